// FakeApi: an API server played by a test. Answers are fixed, queued or made by a handler, and all
// requests are kept. Any number of threads may call; a handler runs on the thread that calls, with
// nothing locked.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::kube {

ApiReply Reply(int status, std::string body = "{}");
// A Status object, as the API server sends it with everything that it refuses.
ApiReply Refusal(int status, const std::string& message);
cluster::Error NoConnection();

class FakeApi : public ApiCaller {
 public:
  using Answer = cluster::Result<ApiReply>;
  using Handler = std::function<Answer(const ApiRequest&)>;

  // What is asked for exactly so, query included. A later one takes the place of an earlier one.
  void On(Method method, const std::string& path, Answer answer);
  void On(Method method, const std::string& path, Handler handler);
  // Once, before On's; several in the order given.
  void Once(Method method, const std::string& path, Answer answer);
  // What nothing else answers; without it that is 404.
  void Otherwise(Handler handler);
  void OnStream(std::function<std::unique_ptr<ApiStream>()> open);

  Answer Call(const ApiRequest& request) override;
  // Without OnStream: one that finds no connection.
  std::unique_ptr<ApiStream> OpenStream() override;

  std::vector<ApiRequest> requests() const;
  // "GET /apis" and so on, in order.
  std::vector<std::string> lines() const;
  void ForgetRequests();

 private:
  using Target = std::pair<Method, std::string>;
  // Notes the request and finds who answers it.
  Handler Find(const ApiRequest& request);

  mutable cluster::Mutex mu_;
  std::vector<ApiRequest> requests_ MUSTER_GUARDED_BY(mu_);
  std::map<Target, Handler> handlers_ MUSTER_GUARDED_BY(mu_);
  std::map<Target, std::deque<Answer>> queued_ MUSTER_GUARDED_BY(mu_);
  Handler otherwise_ MUSTER_GUARDED_BY(mu_);
  std::function<std::unique_ptr<ApiStream>()> open_ MUSTER_GUARDED_BY(mu_);
};

std::string_view NameOf(Method method);

}  // namespace muster::kube
