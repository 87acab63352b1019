// Catch2 listener: one request is served before the first test, in threads that have ended by then.
//
// cpp-httplib keeps the names of the HTTP methods in a static local of its compiled library. The
// compiler guards it, but ThreadSanitizer does not see the guard there: it took two servers' first
// requests at once for a data race. What is made here happened before any test's threads began.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <httplib.h>

#include <catch2/catch.hpp>
#include <thread>

namespace muster::testing {
namespace {

struct HttplibStatics : Catch::TestEventListenerBase {
  using Catch::TestEventListenerBase::TestEventListenerBase;
  void testRunStarting(const Catch::TestRunInfo& /*run*/) override {
    httplib::Server server;
    server.Get("/", [](const httplib::Request& /*request*/, httplib::Response& response) {
      response.set_content("{}", "application/json");
    });
    const int port = server.bind_to_any_port("127.0.0.1");
    std::thread serving([&server] { server.listen_after_bind(); });
    while (!server.is_running()) std::this_thread::yield();
    const httplib::Result answer = httplib::Client("127.0.0.1", port).Get("/");
    server.stop();
    serving.join();
    if (!answer) Catch::cerr() << "cpp-httplib did not serve its first request\n";
  }
};

CATCH_REGISTER_LISTENER(HttplibStatics)

}  // namespace
}  // namespace muster::testing
