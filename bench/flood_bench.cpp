// What do strangers' floods cost? The memory of the server while they last and 5 s after the last
// of them was answered or cut off, and what others notice: kube-scheduler's Filter, a probe, one
// caller who may read a page. Callers of a flood are a process of their own.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/flood_process.hpp"
#include "bench/flood_stage.hpp"
#include "bench/timing.hpp"
#include "extender/verbs/http_verbs.hpp"
#include "http/client/client.hpp"
#include "http/server/allocator.hpp"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr double kMiB = 1024 * 1024;
constexpr int kAddresses = 8;  // of a flood of memory
constexpr const char* kLegit = "127.0.0.200";
constexpr std::string_view kPostFilter("\x83\x04\x07/filter", 10);  // HPACK

double ResidentMiB() {
  std::ifstream statm("/proc/self/statm");
  long total = 0;
  long resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / kMiB;
}

std::string Get(const std::string& path, const std::string& token = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
         (token.empty() ? "" : "X-Muster-Token: " + token + "\r\n") + "\r\n";
}

// A caller with an address of his own, who reads his answers.
class Caller {
 public:
  Caller(std::uint16_t port, const std::string& from) : fd_(ConnectFrom(port, from, 30)) {}
  ~Caller() {
    if (fd_ >= 0) ::close(fd_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  bool Send(std::string_view bytes) const {
    return fd_ >= 0 && ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                           static_cast<ssize_t>(bytes.size());
  }
  // The status of the next answer; 0: there is none.
  int Read() {
    std::size_t end = std::string::npos;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!Fill()) return 0;
    }
    const std::size_t at = received_.find("Content-Length: ");
    const std::size_t length =
        at < end ? std::strtoul(received_.c_str() + at + 16, nullptr, 10) : std::size_t{0};
    while (received_.size() < end + 4 + length) {
      if (!Fill()) return 0;
    }
    const int status = std::atoi(received_.c_str() + 9);
    received_.erase(0, end + 4 + length);
    return status;
  }

 private:
  bool Fill() {
    char buffer[16 * 1024];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  const int fd_;
  std::string received_;
};

// `callers` of one address who go on asking, `in_a_row` requests at a time, until they are ended.
FloodProcess Askers(int callers, int in_a_row,
                    const std::function<std::string(int, int)>& request) {
  return FloodProcess([=](std::uint16_t port) {
    for (int i = 0; i < callers; ++i) {
      std::thread([=] {
        for (int round = 0;; ++round) {
          Caller caller(port, FloodAddress(0));
          for (bool open = true; open; ++round) {
            std::string batch;
            for (int j = 0; j < in_a_row; ++j) batch += request(i, round);
            open = caller.Send(batch);
            for (int j = 0; j < in_a_row && open; ++j) open = caller.Read() != 0;
          }
          std::this_thread::sleep_for(milliseconds(10));
        }
      }).detach();
    }
    std::this_thread::sleep_for(milliseconds(300));
    return FloodSockets();
  });
}

struct Noticed {
  Times filter;
  Times health;
  int refused = 0;  // probes and pages
  int pages = 0;
  double seconds = 0;
};

// One caller of each kind, for so long.
Noticed Notice(const FloodStage& stage, milliseconds length) {
  Noticed noticed;
  std::atomic<bool> over = false;
  std::atomic<int> refused = 0;
  const Clock::time_point begin = Clock::now();
  std::thread health([&] {
    while (!over) {
      const Stopwatch watch;
      Caller probe(stage.api_port(), kLegit);
      if (!probe.Send(Get("/healthz")) || probe.Read() != 200) ++refused;
      watch.AddTo(noticed.health);
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  std::thread pages([&] {
    Caller reader(stage.api_port(), kLegit);
    while (!over) {
      if (!reader.Send(Get("/v1/gangs?namespace=own", kKnownToken)) || reader.Read() != 200) {
        ++refused;
        return;
      }
      ++noticed.pages;
    }
  });
  http::ClientOptions options;
  options.port = stage.extender_port();
  http::Client scheduler(options);
  const std::string body = stage.FilterBody();
  while (Clock::now() < begin + length) {
    const Stopwatch watch;
    const auto reply = scheduler.Post(extender::kFilterPath, body);
    MUSTER_CHECK(reply.ok() && reply->status == 200);
    watch.AddTo(noticed.filter);
    std::this_thread::sleep_for(milliseconds(1));
  }
  over = true;
  health.join();
  pages.join();
  noticed.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  noticed.refused = refused;
  return noticed;
}

void PrintNoticed(const char* what, const Noticed& noticed) {
  std::printf("%-42s %9.2f %8.2f %9.2f %8.1f %8d\n", what,
              Percentile(noticed.filter.wall, 50) / 1e3, Percentile(noticed.filter.wall, 99) / 1e3,
              Percentile(noticed.health.wall, 99) / 1e3, noticed.pages / noticed.seconds,
              noticed.refused);
  std::fflush(stdout);
}

struct Load {
  const char* what;
  FloodProcess flood;
};

void NoticeFloods(int gangs, std::vector<Load>& loads, bool smoke) {
  const FloodStage stage(gangs);
  if (!smoke) stage.AwaitQuiet();
  const milliseconds length(smoke ? 300 : 6'000);
  const std::string idle = "idle, " + std::to_string(gangs) + " gangs";
  PrintNoticed(idle.c_str(), Notice(stage, length));
  for (Load& load : loads) {
    MUSTER_CHECK(load.flood.Begin(stage.api_port()));
    PrintNoticed(load.what, Notice(stage, length));
    load.flood.End();
    std::this_thread::sleep_for(milliseconds(smoke ? 50 : 500));
  }
}

FloodSockets Http2Flood(std::uint16_t port, int each, int streams, const Http2Head& first,
                        Http2Head next, std::uint32_t window) {
  std::string bytes = Http2Opening(window) + HeadFrame(first);
  for (int i = 1; i < streams; ++i) {
    next.stream = static_cast<std::uint32_t>(2 * i + 1);
    bytes += HeadFrame(next);
  }
  FloodSockets open;
  for (int i = 0; i < each * kAddresses; ++i) {
    auto made = TlsFlood(port, FloodAddress(i % kAddresses), "h2");
    if (made == nullptr) continue;
    made->Send(bytes);
    open.push_back(std::move(made));
  }
  return open;
}

FloodSockets PlainFloods(std::uint16_t port, int each, const std::string& bytes) {
  FloodSockets open;
  for (int i = 0; i < each * kAddresses; ++i) {
    auto made = PlainFlood(port, FloodAddress(i % kAddresses));
    if (made == nullptr) continue;
    made->Send(bytes);
    open.push_back(std::move(made));
  }
  return open;
}

struct MemoryFlood {
  const char* what;
  std::uint16_t (FloodStage::*port)() const;
  FloodProcess flood;
};

// The largest that gets in: what one connection may have, of some hundred connections.
std::vector<MemoryFlood> MemoryFloods(bool smoke) {
  constexpr std::uint32_t kUsual = 65'535;
  const int part = smoke ? 20 : 1;
  std::vector<MemoryFlood> floods;
  floods.push_back({"HTTP/2 heads of 12 KiB, 100,000", &FloodStage::tls_port,
                    FloodProcess([part](std::uint16_t port) {
                      const std::string once = NewField(0, "x", std::string(4'000, 'x'));
                      const std::string thrice = std::string(kNewestField) + "\xbe\xbe";
                      return Http2Flood(port, 12, 1'000 / part,
                                        {.method_and_path = kPostFilter, .fields = once},
                                        {.method_and_path = kPostFilter, .fields = thrice}, kUsual);
                    })});
  floods.push_back({"HTTP/2 streams without end, 256,000", &FloodStage::tls_port,
                    FloodProcess([part](std::uint16_t port) {
                      const Http2Head small{.method_and_path = kPostFilter};
                      return Http2Flood(port, 32, 1'000 / part, small, small, kUsual);
                    })});
  floods.push_back(
      {"HTTP/2 connections, 1,600", &FloodStage::tls_port, FloodProcess([part](std::uint16_t port) {
         const Http2Head small{.method_and_path = kPostFilter};
         return Http2Flood(port, 200 / part, 1, small, small, kUsual);
       })});
  floods.push_back({"handshakes that do not end, 3,200", &FloodStage::tls_port,
                    FloodProcess([part](std::uint16_t port) {
                      return PlainFloods(port, 400 / part,
                                         std::string("\x16\x03\x01\x40\x00\x01\x02\x00\x00", 9) +
                                             std::string(16'000, '\0'));
                    })});
  floods.push_back({"half heads of HTTP/1.1, 3,200", &FloodStage::extender_port,
                    FloodProcess([part](std::uint16_t port) {
                      return PlainFloods(port, 400 / part,
                                         "POST /filter HTTP/1.1\r\nX: " + std::string(16'000, 'x'));
                    })});
  floods.push_back({"pages that nobody reads, of 200 callers", &FloodStage::api_port,
                    FloodProcess([part](std::uint16_t port) {
                      std::string requests;
                      for (int i = 0; i < 8; ++i) requests += Get("/v1/gangs");
                      return PlainFloods(port, 25 / part + 1, requests);
                    })});
  return floods;
}

void WatchMemory(std::vector<MemoryFlood>& floods, bool smoke) {
  std::printf("%-42s %9s %8s %9s\n", "resident memory, MiB", "before", "peak", "after");
  const FloodStage stage(smoke ? 100 : 3'000);
  if (!smoke) stage.AwaitQuiet();
  for (MemoryFlood& flood : floods) {
    const double before = ResidentMiB();
    std::atomic<bool> over = false;
    double peak = before;
    std::thread watch([&] {
      while (!over) {
        peak = std::max(peak, ResidentMiB());
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
    MUSTER_CHECK(flood.flood.Begin((stage.*flood.port)()));
    std::this_thread::sleep_for(milliseconds(smoke ? 50 : 2'000));
    over = true;
    watch.join();
    flood.flood.End();
    while (!smoke && !stage.idle()) std::this_thread::sleep_for(milliseconds(100));
    std::this_thread::sleep_for(milliseconds(smoke ? 100 : 5'000));
    std::printf("%-42s %9.0f %8.0f %9.0f\n", flood.what, before, peak, ResidentMiB());
    std::fflush(stdout);
  }
}

}  // namespace

void Run(bool smoke) {
  // Processes are made before there are threads.
  std::vector<MemoryFlood> memory = MemoryFloods(smoke);
  std::vector<Load> small;
  small.push_back({"120 connections that pipeline /metrics",
                   Askers(120, 10, [](int, int) { return Get("/metrics"); })});
  small.push_back({"64 readers of /v1/gangs, without a token",
                   Askers(64, 1, [](int, int) { return Get("/v1/gangs"); })});
  small.push_back({"16 callers with random tokens", Askers(16, 1, [](int caller, int round) {
                     return Get("/v1/nodes",
                                "r-" + std::to_string(caller) + "-" + std::to_string(round));
                   })});
  std::vector<Load> large;
  large.push_back({"16 readers of explain", Askers(16, 1, [](int caller, int round) {
                     return Get("/v1/gangs/team/g-" + std::to_string(16 * (round % 10) + caller));
                   })});
  http::GiveFreedMemoryBack();  // as muster serve does
  WatchMemory(memory, smoke);
  std::printf("\n%-42s %9s %8s %9s %8s %8s\n%-42s %9s %8s %9s %8s %8s\n", "milliseconds", "Filter",
              "Filter", "/healthz", "pages", "refused", "", "p50", "p99", "p99", "per s", "");
  NoticeFloods(smoke ? 100 : 3'000, small, smoke);
  NoticeFloods(smoke ? 200 : 10'000, large, smoke);
}

}  // namespace muster::bench

// NOLINTNEXTLINE(bugprone-exception-escape): a bench that cannot go on ends there
int main(int argc, char** argv) {
  muster::bench::Run(argc > 1 && std::string_view(argv[1]) == "--smoke");
  return 0;
}
