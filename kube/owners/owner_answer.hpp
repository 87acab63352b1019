// A read of one owner of pods: what is asked of an API server (OwnerTable), and what it said
// (ReadOwner). Plain values.
#pragma once

#include <memory>
#include <string>

#include "kube/json/json.hpp"
#include "kube/owners/owner_chain.hpp"
#include "kube/owners/owner_fields.hpp"

namespace muster::kube {

struct OwnerRequest {
  OwnerKey key;
  std::string path;  // "/apis/batch/v1/namespaces/team/jobs/train"
  std::shared_ptr<const OwnerFields> fields;
};

// Of an owner what `fields` keep; both are the same.
struct OwnerObject {
  std::string text;
  std::shared_ptr<const Json> json;
};

struct OwnerAnswer {
  enum class Kind {
    kRead,
    kGone,
    kTooLarge,  // more of it would have to be kept than may be
    kRefused,   // it may not be read, or its kind is not served
    kFailed,    // nobody knows: to be tried again
  };
  Kind kind = Kind::kFailed;
  OwnerObject object = {};  // of kRead
  std::string why = {};     // of the last three, for people
};

}  // namespace muster::kube
