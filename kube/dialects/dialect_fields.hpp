// DialectFields: every field of the spec of every kind of PodGroup, and what Muster makes of it. So
// no word of a PodGroup is passed over in silence: the list is that of the schema
// (config/kubernetes/), and a test fails for a field that is not here.
//
// docs/reference/schedulers/ is generated from it (tests/kube/dialect_fields_test.cpp). Constants,
// any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/json/json_view.hpp"

namespace muster::kube {

enum class Heed {
  kHonoured,     // `note`: how, where the name does not say it; may be empty
  kMeaningless,  // it would change nothing; `note`: why
  kNotHonoured,  // it is reported where it is set; `note`: what is done instead
};

// Where a label or an annotation counts.
enum class Place { kEither, kLabel, kAnnotation };

struct DialectField {
  // "spec.subGroups[].parent"; ".*" at the end: any name. One that is not honoured, or means
  // nothing, stands for all that is in it.
  std::string_view path;
  Heed heed = Heed::kHonoured;
  std::string_view note = {};
  // The values that it may have, '|' in between; any other is reported. Empty: any value.
  std::string_view words = {};
  Place place = Place::kEither;
};

struct Dialect {
  std::string_view title;  // for people
  // "scheduling.k8s.io/v1beta1/PodGroup"
  std::span<const std::string_view> kinds;
  std::span<const DialectField> fields;
};

std::span<const Dialect> Dialects();
// Of the owners of pods of which grouping rules read a field among others that say how the gang is
// scheduled (config/grouping/): all of these others.
std::span<const Dialect> DialectsOfOwners();
// "scheduling.k8s.io/v1beta1", "PodGroup". Null: of none.
const Dialect* FindDialect(std::string_view api_version, std::string_view kind);
const Dialect* FindOwnerDialect(std::string_view api_version, std::string_view kind);

// "expected hard or soft, got \"sotf\"", where this is none of the field's words; else empty.
std::string OddWord(const DialectField& field, std::string_view value);

// What of the object is set and not honoured, each once: "spec.subGroups[0].minSubGroup: all
// subgroups are needed"; so are odd words. Null, an empty text and an empty list are not set.
std::vector<std::string> FieldsNotHonoured(const Dialect& dialect, const JsonView& object);

}  // namespace muster::kube
