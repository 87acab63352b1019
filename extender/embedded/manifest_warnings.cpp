#include "extender/embedded/manifest_warnings.hpp"

namespace muster::extender {
namespace {

using config::YamlNode;

// Of an annotation or label whose key the warning has, the longest; empty: of none.
std::string PathOfKey(const YamlNode& metadata, const std::string& warning) {
  std::string path;
  std::size_t longest = 0;
  for (const char* map : {"annotations", "labels"}) {
    const YamlNode* texts = metadata.Find(map);
    if (texts == nullptr) continue;
    for (const config::YamlEntry& entry : texts->entries) {
      if (entry.key.size() <= longest || warning.find(entry.key) == std::string::npos) continue;
      longest = entry.key.size();
      path = std::string("metadata.") + map + "[\"" + entry.key + "\"]";
    }
  }
  return path;
}

}  // namespace

std::string LocatedWarning(const config::ManifestDocument& document, const YamlNode& object,
                           const std::string& path, const std::string& warning) {
  const std::string kind = object.TextAt("kind");
  const YamlNode* metadata = object.Find("metadata");
  const std::string name = metadata == nullptr ? std::string() : metadata->TextAt("name");
  cluster::Error told{cluster::Code::kInvalidArgument, kind + " " + name + ": " + warning, ""};
  const std::size_t colon = warning.find(": ");
  if (warning.starts_with(kind + ".") && colon != std::string::npos) {
    told.place = warning.substr(kind.size() + 1, colon - kind.size() - 1);
    told.message = kind + " " + name + ": " + warning.substr(colon + 2);
  } else if (metadata != nullptr) {
    told.place = PathOfKey(*metadata, warning);
  }
  return document.Locate(path.empty() ? told : told.At(path)).ToString();
}

void WarnOfUnheeded(const cluster::PodGroup& group, const std::string& kind,
                    std::vector<std::string>& warnings) {
  for (const std::string& one : group.not_honoured) {
    const std::size_t colon = one.find(": ");
    // A field, or else a label or an annotation.
    warnings.push_back((one.starts_with("spec.") ? kind + "." : "") + one.substr(0, colon) +
                       ": has no effect: " + one.substr(colon + 2));
  }
}

void CutWarnings(std::vector<std::string>& warnings) {
  if (warnings.size() <= kMostWarnings) return;
  const std::size_t more = warnings.size() - kMostWarnings;
  warnings.resize(kMostWarnings);
  warnings.push_back("and " + std::to_string(more) + " more");
}

}  // namespace muster::extender
