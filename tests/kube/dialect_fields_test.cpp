// Every field of every kind of PodGroup has a mark, and what is set and not honoured is said.
//
//   MUSTER_UPDATE_GOLDENS=1 build/dev/kube_test "*reference/schedulers*"
//
// writes the pages of docs/reference/schedulers/.
#include "kube/dialects/dialect_fields.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cluster/base/split.hpp"
#include "config/shipped_files.hpp"
#include "config/yaml/yaml_parser.hpp"
#include "kube/decode/decode.hpp"
#include "kube/dialects/dialect_keys.hpp"

namespace muster::kube {
namespace {

using config::YamlNode;

// config/kubernetes/, as KubernetesFields reads it.
class Schema {
 public:
  Schema() {
    for (const config::ShippedFile& file : config::ShippedKubernetes()) {
      auto read = config::ParseYaml(file.text, std::string(file.name), config::YamlRules{});
      REQUIRE(read.ok());
      files_.push_back(std::move(read->front()));
    }
    for (const YamlNode& file : files_) {
      for (const auto& kind : file.Find("kinds")->entries) kinds_[kind.key] = kind.value.text;
      for (const auto& type : file.Find("types")->entries) types_[type.key] = &type.value;
    }
  }
  // Fields of the kind's spec that have none within, as DialectField writes them: with what they
  // are.
  std::map<std::string, std::string> LeavesOf(const std::string& kind) const {
    std::map<std::string, std::string> leaves;
    REQUIRE(kinds_.contains(kind));
    Add(*types_.at(kinds_.at(kind))->Find("spec"), "spec", leaves);
    return leaves;
  }
  std::set<std::string> Kinds() const {
    std::set<std::string> kinds;
    for (const auto& [kind, type] : kinds_) kinds.insert(kind);
    return kinds;
  }

 private:
  void Add(const YamlNode& schema, const std::string& path,
           std::map<std::string, std::string>& leaves) const {
    if (schema.kind == YamlNode::Kind::kMap) return Add(*schema.Find("*"), path + ".*", leaves);
    if (schema.kind == YamlNode::Kind::kSequence) {
      const YamlNode& item = schema.items.front();
      const bool fields = item.scalar() && types_.contains(item.text);
      if (fields) return Add(item, path + "[]", leaves);
      leaves[path] = "list";
      return;
    }
    const auto type = types_.find(schema.text);
    if (type == types_.end() || type->second->entries.empty()) {
      leaves[path] = type == types_.end() ? schema.text : "object";
      return;
    }
    for (const auto& field : type->second->entries)
      Add(field.value, path + "." + field.key, leaves);
  }

  std::vector<YamlNode> files_;
  std::map<std::string, std::string> kinds_;
  std::map<std::string, const YamlNode*> types_;
};

bool IsWithin(std::string_view path, std::string_view outer) {
  return path == outer || (path.size() > outer.size() && path.starts_with(outer) &&
                           (path[outer.size()] == '.' || path[outer.size()] == '['));
}

bool IsMarkOf(const DialectField& field, const std::string& leaf) {
  return field.heed == Heed::kHonoured ? field.path == leaf : IsWithin(leaf, field.path);
}

// One name among those that "*" stands for.
bool IsName(const DialectField& field, const std::string& leaf) {
  return leaf.ends_with(".*") && field.path.starts_with(leaf.substr(0, leaf.size() - 1));
}

TEST_CASE("every kind of PodGroup has a table", "[kube][dialects]") {
  std::set<std::string> all;
  for (const Dialect& dialect : Dialects()) {
    for (const std::string_view kind : dialect.kinds) CHECK(all.insert(std::string(kind)).second);
  }
  std::set<std::string> known;
  for (const std::string& kind : Schema().Kinds()) {
    if (kind.ends_with("/PodGroup") || kind.ends_with("/PodGang")) known.insert(kind);
  }
  CHECK(all == known);
}

TEST_CASE("every field of a PodGroup has a mark, and every mark its field", "[kube][dialects]") {
  const Schema schema;
  for (const Dialect& dialect : Dialects()) {
    std::set<std::string_view> used;
    for (const std::string_view kind : dialect.kinds) {
      for (const auto& entry : schema.LeavesOf(std::string(kind))) {
        const auto& leaf = entry.first;  // clang 14: a lambda catches no structured binding
        INFO(kind << ": " << leaf);
        bool marked = false;
        for (const DialectField& field : dialect.fields) {
          if (IsMarkOf(field, leaf)) marked = used.insert(field.path).second || true;
          if (IsName(field, leaf)) used.insert(field.path);
        }
        CHECK(marked);
      }
    }
    std::set<std::string_view> paths;
    for (const DialectField& field : dialect.fields) {
      INFO(dialect.title << ": " << field.path);
      CHECK(used.contains(field.path));
      CHECK(paths.insert(field.path).second);
      CHECK((field.heed == Heed::kHonoured || !field.note.empty()));
    }
  }
}

// "spec.runPolicy.schedulingPolicy" of a table whose fields are all within that.
std::string SectionOf(const Dialect& dialect) {
  std::string section(dialect.fields.front().path);
  for (const DialectField& field : dialect.fields) {
    while (!IsWithin(field.path, section)) section.erase(section.rfind('.'));
  }
  return section;
}

TEST_CASE("of owners every field beside one that a grouping rule reads has a mark",
          "[kube][dialects]") {
  const Schema schema;
  for (const Dialect& dialect : DialectsOfOwners()) {
    const std::string section = SectionOf(dialect);
    CHECK(section.find('.') != std::string::npos);
    for (const std::string_view kind : dialect.kinds) {
      std::set<std::string_view> used;
      for (const auto& entry : schema.LeavesOf(std::string(kind))) {
        const std::string& leaf = entry.first;
        if (!IsWithin(leaf, section)) continue;
        INFO(kind << ": " << leaf);
        bool marked = false;
        for (const DialectField& field : dialect.fields) {
          if (!IsMarkOf(field, leaf)) continue;
          marked = used.insert(field.path).second || true;
        }
        CHECK(marked);
      }
      CHECK(used.size() == dialect.fields.size());
    }
  }
}

// Text of an object that has a value at that path.
std::string ValueAt(std::string_view path, const std::string& leaf) {
  const size_t dot = path.find('.');
  const std::string name(path.substr(0, dot));
  std::string rest = leaf;
  if (dot != std::string_view::npos) rest = ValueAt(path.substr(dot + 1), leaf);
  const bool list = name.ends_with("[]");
  const std::string key = name == "*" ? "some" : list ? name.substr(0, name.size() - 2) : name;
  return "{\"" + key + "\":" + (list ? "[" + rest + "]" : rest) + "}";
}

TEST_CASE("what is set and not honoured is said by its place", "[kube][dialects]") {
  const Schema schema;
  int said = 0;
  for (const Dialect& dialect : Dialects()) {
    for (const std::string_view kind : dialect.kinds) {
      const size_t slash = kind.rfind('/');
      const auto read = [&](const std::string& spec) {
        const auto group = DecodePodGroup(
            R"({"apiVersion":")" + std::string(kind.substr(0, slash)) + R"(","kind":")" +
            std::string(kind.substr(slash + 1)) +
            R"(","metadata":{"name":"g","namespace":"n","uid":"u"},)" + spec.substr(1));
        REQUIRE(group.ok());
        return group->not_honoured;
      };
      for (const auto& entry : schema.LeavesOf(std::string(kind))) {
        const auto& leaf = entry.first;  // clang 14: a lambda catches no structured binding
        const auto& type = entry.second;
        INFO(kind << ": " << leaf);
        const std::string value = type == "whole"                           ? "3"
                                  : type == "boolean"                       ? "true"
                                  : type == "list"                          ? R"(["x"])"
                                  : type == "object" || type == "resources" ? "{}"
                                                                            : "\"x\"";
        const std::vector<std::string> told = read(ValueAt(leaf, value));
        const auto odd = std::find_if(
            dialect.fields.begin(), dialect.fields.end(),
            [&](const auto& field) { return !field.words.empty() && IsMarkOf(field, leaf); });
        if (odd != dialect.fields.end()) {
          REQUIRE(told.size() == 1);
          CHECK_THAT(told.front(), Catch::Contains(": expected ") && Catch::EndsWith("\"x\""));
          const std::string word(odd->words.substr(0, odd->words.find('|')));
          CHECK(read(ValueAt(leaf, "\"" + word + "\"")).empty());
          continue;
        }
        const auto refused =
            std::find_if(dialect.fields.begin(), dialect.fields.end(), [&](const auto& field) {
              return field.heed == Heed::kNotHonoured && IsMarkOf(field, leaf);
            });
        CHECK(told.size() == (refused == dialect.fields.end() ? 0U : 1U));
        if (refused == dialect.fields.end() || told.empty()) continue;
        CHECK(told.front().ends_with(": " + std::string(refused->note)));
        ++said;
      }
    }
  }
  CHECK(said >= 8);
}

TEST_CASE("a field that is not honoured is said once, with the first place", "[kube][dialects]") {
  const auto group = DecodePodGroup(
      R"({"apiVersion":"scheduling.run.ai/v2alpha2","kind":"PodGroup",)"
      R"("metadata":{"name":"g","namespace":"n","uid":"u"},"spec":{"minSubGroup":null,"subGroups":[)"
      R"({"name":"a","minMember":1},{"name":"b","minSubGroup":1},{"name":"c","minSubGroup":1}]}})");
  REQUIRE(group.ok());
  CHECK(group->not_honoured ==
        std::vector<std::string>{"spec.subGroups[1].minSubGroup: all subgroups are needed"});
  CHECK(group->defect.empty());
}

TEST_CASE("of what Kubernetes has one of, the others are said", "[kube][dialects]") {
  using Told = std::vector<std::string>;
  const auto told = [](const std::string& version, const std::string& more) {
    const auto group =
        DecodePodGroup(R"({"apiVersion":"scheduling.k8s.io/)" + version +
                       R"(","kind":"PodGroup","metadata":{"name":"g","namespace":"n","uid":"u"},)" +
                       R"("spec":{"schedulingPolicy":{"basic":{}},)" + more + "}}");
    REQUIRE(group.ok());
    CHECK(group->defect.empty());
    return group->not_honoured;
  };
  const std::string keys = R"("schedulingConstraints":{"topology":[{"key":"a"},{"key":"b"}]})";
  for (const char* version : {"v1beta1", "v1alpha3", "v1alpha2"})
    CHECK(told(version, keys) ==
          Told{"spec.schedulingConstraints.topology[1]: expected one key, the first counts"});
  CHECK(told("v1beta1", R"("disruptionMode":{"all":{},"single":{}})") ==
        Told{"spec.disruptionMode.single: expected either all or single, all counts"});
  CHECK(told("v1beta1", R"("disruptionMode":{"single":{}})").empty());
  CHECK(told("v1alpha2", R"("disruptionMode":"podgroup")") ==
        Told{"spec.disruptionMode: expected PodGroup or Pod, got \"podgroup\""});
  CHECK(told("v1beta1", R"("preemptionPolicy":"never")") ==
        Told{"spec.preemptionPolicy: expected Never or PreemptLowerPriority, got \"never\""});
}

// A page of docs/reference/schedulers/.
struct Page {
  const char* file;
  const char* title;
  std::vector<std::string_view> dialects;  // titles
};

std::vector<Page> Pages() {
  return {
      {"kubernetes.md", "Kubernetes", {"Kubernetes 1.37", "Kubernetes 1.36", "Kubernetes' Jobs"}},
      {"koordinator.md",
       "scheduler-plugins and Koordinator",
       {"scheduler-plugins, Koordinator", "Koordinator"}},
      {"volcano.md", "Volcano", {"Volcano"}},
      {"kai.md", "KAI Scheduler", {"KAI", "KAI Scheduler"}},
      {"grove.md", "Grove", {"Grove"}},
      {"kueue.md", "Kueue", {"Kueue"}},
      {"hami.md", "HAMi", {"HAMi"}},
      {"kubeflow.md", "Kubeflow's training operator", {"Kubeflow's jobs"}}};
}

std::string KindsOf(const Dialect& dialect) {
  std::string text;
  for (const std::string_view kind : dialect.kinds) {
    const size_t slash = kind.rfind('/');
    text += (text.empty() ? "" : ", ") + std::string(kind.substr(slash + 1)) + " of `" +
            std::string(kind.substr(0, slash)) + "`";
  }
  return text;
}

std::string RowOf(const DialectField& field) {
  std::string text = "| `" + std::string(field.path) + "` | " +
                     (field.heed == Heed::kHonoured ? "yes" : "**no**") + " | " +
                     std::string(field.note);
  if (!field.words.empty()) {
    text += field.note.empty() ? "" : "; ";
    for (const std::string_view word : cluster::Split(field.words, '|'))
      text += (text.ends_with("`") ? ", `" : "one of `") + std::string(word) + "`";
  }
  const bool told = !field.note.empty() || !field.words.empty();
  if (field.place != Place::kEither)
    text += std::string(told ? "; " : "") +
            (field.place == Place::kLabel ? "a label" : "an annotation");
  return text + (told || field.place != Place::kEither ? " |\n" : "|\n");
}

// What means nothing here, by the reason for that.
std::string MeaninglessOf(const Dialect& dialect) {
  std::vector<std::pair<std::string_view, std::string>> lines;
  for (const DialectField& field : dialect.fields) {
    if (field.heed != Heed::kMeaningless) continue;
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const auto& one) { return one.first == field.note; });
    if (line == lines.end()) line = lines.insert(line, {field.note, ""});
    line->second += (line->second.empty() ? "`" : ", `") + std::string(field.path) + "`";
  }
  std::string text = lines.empty() ? "" : "\nMeans nothing here:\n\n";
  for (const auto& [note, paths] : lines) text += "- " + paths + ": " + std::string(note) + "\n";
  return text;
}

std::string SectionOn(const Page& page, const Dialect& dialect) {
  const bool keys = dialect.kinds.empty();
  std::string text = "\n## ";
  text += keys                       ? "Labels and annotations"
          : page.dialects.size() > 2 ? dialect.title
                                     : std::string_view("Fields");
  text += "\n\n" + (keys ? "" : KindsOf(dialect) + "\n\n");
  text += keys ? "| Label or annotation" : "| Field";
  text += " | Honoured | |\n|---|---|---|\n";
  for (const DialectField& field : dialect.fields) {
    if (field.heed != Heed::kMeaningless) text += RowOf(field);
  }
  return text + MeaninglessOf(dialect);
}

TEST_CASE("docs/reference/schedulers/ is what the tables say", "[kube][dialects]") {
  std::set<const Dialect*> shown;
  for (const Page& page : Pages()) {
    std::string text = "# " + std::string(page.title) +
                       "\n\nWhat Muster honours: [how to read this](README.md).\n\n"
                       "<!-- Written by MUSTER_UPDATE_GOLDENS=1 build/dev/kube_test "
                       "\"*reference/schedulers*\", from kube/dialects/dialect_fields.cpp and "
                       "kube/dialects/dialect_keys.cpp. -->\n";
    for (const auto& dialects : {Dialects(), DialectsOfOwners(), DialectsOfKeys()}) {
      for (const Dialect& dialect : dialects) {
        if (std::find(page.dialects.begin(), page.dialects.end(), dialect.title) ==
            page.dialects.end())
          continue;
        CHECK(shown.insert(&dialect).second);
        text += SectionOn(page, dialect);
      }
    }
    INFO(page.file);
    const std::string file =
        std::string(MUSTER_SOURCE_DIR) + "/docs/reference/schedulers/" + page.file;
    if (std::getenv("MUSTER_UPDATE_GOLDENS") != nullptr) std::ofstream(file) << text;
    std::stringstream written;
    written << std::ifstream(file).rdbuf();
    CHECK(written.str() == text);
  }
  CHECK(shown.size() == Dialects().size() + DialectsOfOwners().size() + DialectsOfKeys().size());
}

}  // namespace
}  // namespace muster::kube
