#include "cluster/base/result.hpp"

namespace muster::cluster {

const char* ToString(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "InvalidArgument";
    case Code::kNotFound:
      return "NotFound";
    case Code::kConflict:
      return "Conflict";
    case Code::kForbidden:
      return "Forbidden";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kExhausted:
      return "Exhausted";
    case Code::kIo:
      return "Io";
    case Code::kInternal:
      return "Internal";
  }
  return "Internal";
}

Error Error::At(const std::string& outer) const {
  Error seen = *this;
  if (place.empty()) {
    seen.place = outer;
  } else if (place.front() == '[') {
    seen.place = outer + place;
  } else {
    seen.place = outer + "." + place;
  }
  return seen;
}

std::string Error::ToString() const { return place.empty() ? message : place + ": " + message; }

}  // namespace muster::cluster
