// Http2Session: nghttp2's server side of one HTTP/2 connection (RFC 9113), bytes in and bytes out.
//
// The head of a request is handed on as the text that HTTP/1.1 would have for it, so that one
// parser (head.hpp) judges both. Heads and bodies on a stream that is closed end the connection
// (RFC 9113, 5.1), except those that were under way when the server reset the stream; so does a
// head on a stream that was left out when a higher one was opened (5.1.1). What is known of such
// streams is bounded: the last closed ones, as many as may be open at a time, and the last 64 gaps.
// Frames on older ones are ignored.
//
// Owned by its Http2Connection, used by one thread at a time; no call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "http/messages/message.hpp"

struct nghttp2_session;

namespace muster::http {

class Http2Session {
 public:
  using Stream = std::int32_t;  // a request's number on its connection, odd

  // Told during Receive (Closed also during Pull). May call Submit, Reset and GoAway.
  class Events {
   public:
    virtual ~Events() = default;
    virtual void HeadBegan(Stream stream) = 0;
    // `head` ends with an empty line; it may be longer than the limit by one field.
    virtual void HeadCame(Stream stream, std::string_view head) = 0;
    virtual void BodyCame(Stream stream, std::string_view bytes) = 0;
    // Head and body are complete.
    virtual void Ended(Stream stream) = 0;
    // Answered, reset by either side, or broken: nothing more comes or goes.
    virtual void Closed(Stream stream) = 0;
  };

  struct Limits {
    std::uint32_t max_streams = 100;         // open at a time
    std::size_t max_head = 16 * 1024;        // bytes of the text
    std::uint32_t window = 4 * 1024 * 1024;  // bytes of a body that may come unasked
  };

  // `events` must outlive it.
  Http2Session(const Limits& limits, Events& events);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // Not HTTP/2, or a flood: done() follows, after what Pull has for the peer about it.
  void Receive(std::string_view bytes);
  // Appends what is to be sent, until `out` has at least `enough` bytes or there is no more.
  void Pull(std::string& out, std::size_t enough);
  // Nothing more will come or go.
  bool done() const;

  // To a caller who waits for "100 Continue" before it sends the body.
  void Continue(Stream stream);
  // The whole answer to an open stream, once. When its request is not complete, the rest is not
  // wanted.
  void Submit(Stream stream, Response response, bool without_body);
  // The stream ends without an answer. kRefused: its request was not looked at and may be repeated.
  enum class Cause { kRefused, kCancelled };
  void Reset(Stream stream, Cause cause);
  // No new streams; those that are open go on.
  void GoAway();
  bool going_away() const { return going_away_; }

 private:
  struct Callbacks;  // those of nghttp2
  struct Body {
    std::string bytes;
    std::size_t sent = 0;
  };

  struct Gap {
    Stream first, last;  // odd
  };

  void Opened(Stream stream);
  bool LeftOut(Stream stream) const;
  // False when it is far too much.
  bool TakeField(std::string_view name, std::string_view value);
  void AddField(std::string_view name, std::string_view value);
  std::string TakeHeadText();  // and keeps nothing of it

  const Limits limits_;
  Events& events_;
  nghttp2_session* session_ = nullptr;
  std::map<Stream, Body> bodies_;  // of answers on their way
  bool going_away_ = false;
  bool broken_ = false;
  Stream last_opened_ = -1;   // the highest; before the first, as if it were the one below 1
  std::deque<Gap> left_out_;  // below last_opened_, ascending

  // The head that is coming: of one stream at a time (RFC 9113, 4.3).
  std::string method_;
  std::string target_;
  std::string fields_;
  std::size_t head_bytes_ = 0;  // those left out too
  bool has_authority_ = false;
  bool has_length_ = false;
};

}  // namespace muster::http
