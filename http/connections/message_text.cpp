#include "http/connections/message_text.hpp"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <map>
#include <string_view>
#include <utility>

#include "http/messages/url.hpp"

namespace muster::http {
namespace {

bool IsHeaderText(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

std::string_view PhraseOf(int status) {
  const boost::beast::string_view phrase = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {phrase.data(), phrase.size()};
}

// RFC 9110 §8.6: such an answer has no body and says no length.
bool HasNoBody(int status) { return status < 200 || status == 204 || status == 304; }

// A target's part; the head's parser let no malformed escape in.
std::string Decoded(std::string_view text) {
  return PercentDecoded(text).value_or(std::string(text));
}

std::string DecodedOfQuery(std::string_view text) {
  std::string blanks(text);
  std::replace(blanks.begin(), blanks.end(), '+', ' ');
  return Decoded(blanks);
}

std::map<std::string, std::string> QueryOf(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    if (pair.empty()) continue;
    query.try_emplace(DecodedOfQuery(pair.substr(0, equals)), DecodedOfQuery(value));
  }
  return query;
}

}  // namespace

Request ToRequest(IncomingRequest incoming) {
  Request request;
  RequestHead& head = incoming.head;
  const std::size_t question = head.target.find('?');
  request.path = Decoded(std::string_view(head.target).substr(0, question));
  if (question != std::string::npos)
    request.query = QueryOf(std::string_view(head.target).substr(question + 1));
  request.method = std::move(head.method);
  request.body = std::move(incoming.body);
  request.content_type = std::move(head.content_type);
  request.peer = std::move(incoming.caller.peer);
  request.client_name = std::move(incoming.caller.client_name);
  request.client_organisations = std::move(incoming.caller.client_organisations);
  request.tls = incoming.caller.tls;
  request.headers = std::move(head.headers);
  return request;
}

std::string FormatAnswer(Response response, const AnswerForm& form) {
  std::map<std::string, std::string> fields = std::move(response.headers);
  fields["Content-Type"] =
      IsHeaderText(response.content_type) ? response.content_type : "text/plain";
  fields["Content-Length"] = std::to_string(response.body.size());
  if (HasNoBody(response.status)) {
    fields.erase("Content-Type");
    fields.erase("Content-Length");
    response.body.clear();
  }
  const auto idle = std::chrono::duration_cast<std::chrono::seconds>(form.idle).count();
  fields[form.close ? "Connection" : "Keep-Alive"] =
      form.close ? "close" : "timeout=" + std::to_string(idle);

  constexpr std::size_t kHeadBytes = 256;  // most heads are shorter
  std::string text;
  text.reserve(kHeadBytes + (form.to_head ? 0 : response.body.size()));
  text += "HTTP/1.1 " + std::to_string(response.status) + ' ';
  text += PhraseOf(response.status);
  text += "\r\n";
  for (const auto& [name, value] : fields) {
    if (IsHeaderText(name) && IsHeaderText(value))
      text.append(name).append(": ").append(value).append("\r\n");
  }
  text += "\r\n";
  if (!form.to_head) text += response.body;
  return text;
}

std::string FormatRefusal(const Refusal& refusal) {
  Response response = ErrorResponse(refusal.status, refusal.message);
  if (refusal.status == 503) response.headers["Retry-After"] = "1";
  return FormatAnswer(std::move(response), {.close = true});
}

}  // namespace muster::http
