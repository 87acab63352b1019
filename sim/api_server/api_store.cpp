#include "sim/api_server/api_store.hpp"

#include <string_view>
#include <utility>

namespace muster::sim {

std::string ApiStore::NewUid() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const uint64_t high = uids_.Next();
  const uint64_t low = uids_.Next();
  std::string text;
  text.reserve(36);
  for (unsigned i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text.push_back('-');
    const uint64_t word = i < 16 ? high : low;
    text.push_back(kDigits[(word >> (60U - 4U * (i % 16U))) & 0xfU]);
  }
  text[14] = '4';  // the version digit of a random UUID
  return text;
}

void ApiStore::Log(Change change, Object object) {
  log_.Add({change, std::move(object), version_, loop_.now()});
}

}  // namespace muster::sim
