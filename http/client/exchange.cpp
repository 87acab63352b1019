#include "http/client/exchange.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional.hpp>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>

#include "http/messages/message.hpp"
#include "http/messages/retry_after.hpp"
#include "http/messages/unpacker.hpp"

namespace muster::http {
namespace {

namespace beast = boost::beast;
using cluster::Code;
using cluster::Error;

constexpr std::size_t kMaxHeadBytes = 64 * 1024;
constexpr std::size_t kReadAtOnce = 16 * 1024;

bool HasLineEnd(const std::string& text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
}

bool IsMalformed(const ClientRequest& request) {
  const auto breaks = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
  return request.target.empty() ||
         std::any_of(request.target.begin(), request.target.end(), breaks) ||
         std::any_of(request.headers.begin(), request.headers.end(), [](const auto& header) {
           return HasLineEnd(header.first) || HasLineEnd(header.second);
         });
}

std::string TextOf(const ClientRequest& request) {
  const std::string_view method = request.method;
  std::string text(method);
  text += ' ' + request.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : request.headers)
    text.append(name).append(": ").append(value).append("\r\n");
  const bool has_body = method == "POST" || method == "PUT" || method == "PATCH";
  if (has_body || !request.body.empty())
    text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  text += "\r\n";
  text += request.body;
  return text;
}

// Where the body goes, and why it stopped going there.
struct BodySink {
  const ClientRequest& request;
  Exchanged& outcome;
  std::unique_ptr<Unpacker> unpacker = nullptr;  // of a packed body
  bool too_large = false;
  bool enough = false;     // `take` said so
  bool malformed = false;  // cannot be unpacked

  bool Put(std::string_view piece) {
    if (unpacker == nullptr) return Take(piece);
    const auto take = [this](std::string_view unpacked) { return Take(unpacked); };
    malformed = unpacker->Unpack(piece, take) == Unpacker::State::kMalformed;
    return !malformed && unpacker->state() != Unpacker::State::kRefused;
  }
  bool whole() const { return unpacker == nullptr || unpacker->state() == Unpacker::State::kDone; }

 private:
  bool Take(std::string_view piece) {
    if (request.take && outcome.status == 200) {
      enough = !request.take(piece);
      return !enough;
    }
    too_large = piece.size() > request.max_body - outcome.body.size();
    if (!too_large) outcome.body += piece;
    return !too_large;
  }
};

// The form in which Beast's parser hands a body on: unframed, piece by piece.
struct SunkBody {
  using value_type = BodySink*;
  class reader {  // NOLINT(readability-identifier-naming): Beast's name
   public:
    template <bool kIsRequest, typename Fields>
    reader(beast::http::header<kIsRequest, Fields>& /*head*/, value_type& sink) : sink_(sink) {}
    void init(const boost::optional<std::uint64_t>& /*length*/, beast::error_code& error) {
      error = {};
    }
    template <typename Buffers>
    std::size_t put(const Buffers& buffers, beast::error_code& error) {
      std::size_t taken = 0;
      for (const boost::asio::const_buffer piece : beast::buffers_range_ref(buffers)) {
        if (!sink_->Put({static_cast<const char*>(piece.data()), piece.size()})) {
          error = beast::http::make_error_code(beast::http::error::body_limit);
          return taken;
        }
        taken += piece.size();
      }
      error = {};
      return taken;
    }
    void finish(beast::error_code& error) { error = {}; }

   private:
    value_type& sink_;
  };
};

// What came instead of a whole answer.
enum class Trouble {
  kNone,
  kConnection,  // broken or closed, see `connection`
  kNoHttp,
  kBrokenOff,  // its body does not keep to its own framing
  kStopped,    // the sink wants no more
};

// One answer, read from the connection: interim ones (1xx) are passed over.
class AnswerReader {
 public:
  AnswerReader(ClientConnection& connection, const CallLimits& limits, BodySink& sink)
      : connection_(connection), limits_(limits), sink_(sink) {
    Begin();
  }

  Trouble Read() {
    while (!parser_->is_done()) {
      const Trouble trouble = begin_ == end_ || wants_more_ ? Fill() : Parse();
      if (trouble != Trouble::kNone) return trouble;
    }
    if (!sink_.whole()) return Trouble::kBrokenOff;
    return Trouble::kNone;
  }

  std::uint64_t received() const { return received_; }
  bool ended() const { return ended_; }
  std::string_view Field(beast::http::field name) const {
    const beast::string_view value = parser_->get()[name];
    return {value.data(), value.size()};
  }
  // It says where it ends, its server goes on listening, and nothing came behind it.
  bool reusable() const { return parser_->keep_alive() && begin_ == end_; }

 private:
  using Parser = beast::http::response_parser<SunkBody>;

  void Begin() {
    parser_.emplace();
    parser_->get().body() = &sink_;
    parser_->header_limit(kMaxHeadBytes);
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // the sink has its own
  }

  Trouble Fill() {
    if (end_ == buffer_.size()) {
      if (begin_ == 0 && end_ > kMaxHeadBytes)  // of a head, or of a chunk
        return parser_->is_header_done() ? Trouble::kBrokenOff : Trouble::kNoHttp;
      if (begin_ == 0) buffer_.resize(buffer_.size() * 2);
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    const std::ptrdiff_t got =
        connection_.Read(buffer_.data() + end_, buffer_.size() - end_, limits_);
    if (got < 0) return Trouble::kConnection;
    wants_more_ = false;
    if (got == 0) return End();
    received_ += static_cast<std::uint64_t>(got);
    end_ += static_cast<std::size_t>(got);
    return Trouble::kNone;
  }

  // The server closed the connection: that ends a body without any other end.
  Trouble End() {
    ended_ = true;
    if (!parser_->is_header_done()) {
      constexpr std::string_view kBegin = "HTTP/1.";
      const std::string_view came(buffer_.data() + begin_, end_ - begin_);
      const bool http = parsed_ || kBegin.substr(0, came.size()) == came.substr(0, kBegin.size());
      return http ? Trouble::kConnection : Trouble::kNoHttp;
    }
    beast::error_code error;
    parser_->put_eof(error);
    return error ? Trouble::kBrokenOff : Trouble::kNone;
  }

  Trouble Parse() {
    beast::error_code error;
    const bool had_head = parser_->is_header_done();
    const std::size_t parsed =
        parser_->put(boost::asio::buffer(buffer_.data() + begin_, end_ - begin_), error);
    parsed_ = parsed_ || parsed > 0;
    begin_ += parsed;
    if (begin_ == end_) begin_ = end_ = 0;
    if (error == beast::http::error::need_more) {
      wants_more_ = true;
      error = {};
    }
    if (error == beast::http::error::body_limit) return Trouble::kStopped;
    if (error) return parser_->is_header_done() ? Trouble::kBrokenOff : Trouble::kNoHttp;
    return parser_->is_header_done() && !had_head ? TakeHead() : Trouble::kNone;
  }

  Trouble TakeHead() {
    const unsigned status = parser_->get().result_int();
    if (status >= 100 && status < 200 && status != 101) {
      Begin();
      return Trouble::kNone;
    }
    sink_.outcome.status = static_cast<int>(status);
    if (const std::string_view coding = Field(beast::http::field::content_encoding);
        !coding.empty() && LowerCase(coding) != "identity") {
      if (!Unpacker::Knows(coding)) return Trouble::kNoHttp;
      sink_.unpacker = std::make_unique<Unpacker>();
    }
    if (sink_.request.take && status == 200) return Trouble::kNone;
    const boost::optional<std::uint64_t> length = parser_->content_length();
    sink_.too_large = length && *length > sink_.request.max_body;
    return sink_.too_large ? Trouble::kStopped : Trouble::kNone;
  }

  ClientConnection& connection_;
  const CallLimits& limits_;
  BodySink& sink_;
  std::optional<Parser> parser_;
  std::string buffer_ = std::string(kReadAtOnce, '\0');  // of it [begin_, end_) is not parsed yet
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool wants_more_ = false;  // than there is, before it goes on
  bool parsed_ = false;      // some of what came
  std::uint64_t received_ = 0;
  bool ended_ = false;
};

bool SendText(ClientConnection& connection, std::string_view text, const CallLimits& limits) {
  while (!text.empty()) {
    const std::ptrdiff_t sent = connection.Write(text.data(), text.size(), limits);
    if (sent < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void ReadTimes(const AnswerReader& answer, Exchanged& outcome) {
  const std::string_view date = answer.Field(beast::http::field::date);
  outcome.date = ParseHttpDate(date);
  if (outcome.status != 429 && outcome.status != 503) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  outcome.retry_after = ParseRetryAfter(answer.Field(beast::http::field::retry_after), date, now);
}

Error WhyItBroke(const ClientConnection& connection) {
  switch (connection.broken()) {
    case Broken::kTimeout:
      return {Code::kUnavailable, "no complete answer in time", ""};
    case Broken::kCancelled:
      return {Code::kUnavailable, "stopped", ""};
    case Broken::kClosed:
      return {Code::kUnavailable, "the connection was broken off", ""};
    case Broken::kTls:
      return {Code::kIo, "TLS failed: the server refused the connection", ""};
    case Broken::kNone:
      break;
  }
  return {Code::kUnavailable, "the server closed the connection", ""};
}

std::optional<Error> ErrorOf(Trouble trouble, const ClientConnection& connection,
                             const BodySink& sink) {
  if (sink.too_large) {
    return Error{
        Code::kExhausted,
        "the answer is larger than " + std::to_string(sink.request.max_body >> 20) + " MiB", ""};
  }
  if (sink.enough) return std::nullopt;
  if (sink.malformed) return Error{Code::kIo, "the answer cannot be unpacked", ""};
  switch (trouble) {
    case Trouble::kConnection:
      return WhyItBroke(connection);
    case Trouble::kNoHttp:
      return Error{Code::kIo, "the answer is no HTTP", ""};
    case Trouble::kBrokenOff:
      return Error{Code::kUnavailable, "the answer was broken off", ""};
    case Trouble::kStopped:
    case Trouble::kNone:
      break;
  }
  return std::nullopt;
}

Exchanged Run(ClientConnection& connection, const ClientRequest& request,
              const CallLimits& limits) {
  Exchanged outcome;
  if (IsMalformed(request)) {
    outcome.nothing_sent = true;
    outcome.error =
        Error{Code::kInvalidArgument, "the request has a line end or a space too many", "HTTP"};
    return outcome;
  }
  const std::uint64_t sent_before = connection.sent();
  BodySink sink{request, outcome};
  AnswerReader answer(connection, limits, sink);
  const bool sent = SendText(connection, TextOf(request), limits);
  const Trouble trouble = sent ? answer.Read() : Trouble::kConnection;
  outcome.error = ErrorOf(trouble, connection, sink);
  outcome.reusable = trouble == Trouble::kNone && answer.reusable();
  outcome.nothing_sent = connection.sent() == sent_before;
  outcome.closed_unanswered = outcome.error && answer.received() == 0 &&
                              (connection.broken() == Broken::kClosed ||
                               (connection.broken() == Broken::kNone && answer.ended()));
  outcome.silent =
      outcome.error && answer.received() == 0 && connection.broken() == Broken::kTimeout;
  ReadTimes(answer, outcome);
  return outcome;
}

}  // namespace

Exchanged Exchange(ClientConnection& connection, const ClientRequest& request,
                   const CallLimits& limits) {
  try {
    return Run(connection, request, limits);
  } catch (const std::exception& thrown) {
    Exchanged outcome;
    outcome.error =
        Error{Code::kIo, std::string("the answer cannot be read: ") + thrown.what(), ""};
    return outcome;
  }
}

}  // namespace muster::http
