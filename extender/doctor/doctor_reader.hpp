// DoctorReader: objects of a cluster as the doctor reads them, and how what could not be read is
// told. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cluster/base/result.hpp"
#include "extender/doctor/doctor_values.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/json/json_view.hpp"

namespace muster::extender {

class DoctorReader {
 public:
  explicit DoctorReader(kube::ApiCaller& api) : api_(api) {}

  //   kNotFound      there is none
  //   kForbidden     the caller may not read it
  //   kUnavailable   no answer, or one that says nothing
  cluster::Result<std::string> Get(const std::string& path) const;
  // As Get, for the answer to a POST.
  cluster::Result<std::string> Post(const std::string& path, std::string body) const;
  // Gets and reads an object; what is not as expected in it is kInvalidArgument.
  cluster::Status Read(const std::string& path,
                       const std::function<void(const kube::JsonView& object)>& read) const;
  // All items of a list, in pages; `query` without '?'.
  cluster::Status List(const std::string& path, const std::string& query,
                       const std::function<void(const kube::JsonView& item)>& read) const;

  // Of what could not be read.
  static Finding Unread(const std::string& check, const cluster::Error& error);

 private:
  cluster::Result<std::string> Call(const kube::ApiRequest& request) const;

  kube::ApiCaller& api_;
};

}  // namespace muster::extender
