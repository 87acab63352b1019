// ConfigMapText: a text that Muster keeps in a ConfigMap of its namespace, for the processes after
// this one. Muster alone writes it: what others change is overwritten with the next Write.
//
//   data:
//     orders.json: …
//
// 1. What was never read is not overwritten: Write reads first where the object is not known. What
//    Ports::check finds at fault counts as not read, and stays as it is.
// 2. Each write names the version that was read. If somebody else changed or deleted the object, it
//    is read again and written once more.
//
// One thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::kube {

class ConfigMapText {
 public:
  struct Ports {
    ApiCaller& api;
    std::function<bool()> may_write;
    // What is wrong with a text that was read.
    std::function<cluster::Status(std::string_view)> check;
  };
  struct Place {
    cluster::ObjectKey object;
    std::string key;   // of `data`
    std::string what;  // "the orders of operators", for people
    std::string role;  // of the manifests: who has it may read and write the object
    std::chrono::milliseconds timeout{10'000};
  };

  ConfigMapText(Ports ports, Place place) : ports_(std::move(ports)), place_(std::move(place)) {}

  // Without such an object: nothing.
  cluster::Result<std::string> Read();
  // The object says exactly that; an error: it says what it said before, as far as is known.
  cluster::Status Write(const std::string& text);

 private:
  ApiRequest WriteOf(const std::string& text) const;
  cluster::Error WithoutRight(const cluster::Error& error) const;

  const Ports ports_;
  const Place place_;
  bool known_ = false;   // it was read
  std::string version_;  // of the object; empty: there is none
};

}  // namespace muster::kube
