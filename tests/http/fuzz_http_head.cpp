// Any bytes through HeadScanner and ParseHead: whole or in two pieces the same verdict, and what is
// accepted is within the limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "http/messages/head.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using muster::http::HeadScanner;
  if (size == 0) return 0;
  const std::string bytes(data + 1, data + size);
  const std::string_view whole(bytes);
  muster::http::HeadLimits limits;
  limits.max_bytes = 4096;
  limits.max_lines = 20;

  HeadScanner at_once(limits);
  const HeadScanner::State state = at_once.Scan(whole);
  HeadScanner in_pieces(limits);
  HeadScanner::State later = in_pieces.Scan(whole.substr(0, data[0] % (bytes.size() + 1)));
  if (later == HeadScanner::State::kIncomplete) later = in_pieces.Scan(whole);
  if (state != later) std::abort();
  if (state != HeadScanner::State::kComplete) return 0;
  if (at_once.length() > limits.max_bytes || at_once.length() > bytes.size()) std::abort();

  const auto parsed = muster::http::ParseHead(whole.substr(0, at_once.length()), limits);
  const auto* head = std::get_if<muster::http::RequestHead>(&parsed);
  if (head == nullptr) return 0;
  if (head->headers.size() > limits.max_lines || head->content_length > limits.max_body)
    std::abort();
  if (head->target.empty() || head->target.front() != '/') std::abort();
  return 0;
}
