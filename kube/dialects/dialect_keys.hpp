// DialectKeys: every label and annotation of pods and PodGroups that the schedulers know beside
// which Muster may run, and what Muster makes of it, as DialectFields does of the fields of
// PodGroups. The list is that of their sources' constants (tests/kube/dialect_keys.txt), and a test
// fails for a key that is not here.
//
// Constants, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/dialects/dialect_fields.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// Without kinds. DialectField::path is the key; "*" at its end stands for any rest.
std::span<const Dialect> DialectsOfKeys();
// Of Muster's own those that people write on pods and PodGroups, and that no other object has.
std::span<const DialectField> MusterWords();
// Which of the object's labels and annotations are set and not honoured: "volcano.sh/task-priority:
// …"; which say something else than their words, and which are a label where an annotation counts,
// or the reverse. Empty is not set, nor "false" of what is not honoured.
std::vector<std::string> KeysNotHonoured(const JsonView& labels, const JsonView& annotations);
// Which of these an owner of pods has in its metadata, where they do not count. A Job says there
// how long it runs, and Kueue reads there what it needs.
std::vector<std::string> KeysOfPods(std::span<const DialectField> words, std::string_view kind,
                                    const JsonView& metadata);

}  // namespace muster::kube
