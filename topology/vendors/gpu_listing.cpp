#include "topology/vendors/gpu_listing.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace muster::topology {

using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

// "0:" → 0
std::optional<int> NumberBeforeColon(std::string_view word) {
  if (word.size() < 2 || word.size() > 5 || word.back() != ':') return std::nullopt;
  int value = 0;
  const char* end = word.data() + word.size() - 1;
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
}

bool StartsGpu(const ToolLine& line) {
  return line.words.size() > 2 && line.first().text == "GPU" &&
         NumberBeforeColon(line.words[1].text).has_value();
}

// What stands for the links of a GPU that has none, or none that is up.
bool SaysNoLinks(const ToolLine& line) {
  return line.Has("does not have or support N") ||
         (line.Has("Unable to retrieve N") && line.Has("inActive"));
}

class ListingReader {
 public:
  ListingReader(const std::vector<ToolLine>& lines, const std::string& source)
      : lines_(lines), source_(source) {}

  Result<Machine> Read() {
    const auto first = std::find_if(lines_.begin(), lines_.end(), StartsGpu);
    for (auto line = first; line != lines_.end(); ++line) {
      const Status status = ReadLine(*line);
      if (!status.ok()) return status.error();
    }
    return std::move(machine_);
  }

 private:
  Error Refuse(const ToolLine& line, std::string message) const {
    return Refusal(source_, line.first().place, std::move(message));
  }

  Status ReadLine(const ToolLine& line) {
    if (StartsGpu(line)) return ReadGpu(line);
    if (line.first().text == "MIG") return ReadMig(line);
    if (line.first().text == "Link") return ReadLink(line);
    if (SaysNoLinks(line)) return ReadNoLinks(line);
    return Refuse(line, "expected a GPU, a MIG device or an NVLink, found " + Shown(line.Joined()));
  }

  // "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-…)"
  Status ReadGpu(const ToolLine& line) {
    const int index = *NumberBeforeColon(line.words[1].text);
    if (!machine_.gpus.empty() && index <= machine_.gpus.back().index) {
      return Refuse(line, "GPU " + std::to_string(index) + " does not follow GPU " +
                              std::to_string(machine_.gpus.back().index));
    }
    if (machine_.gpus.size() == kMostGpus) {
      return Refuse(line, "more than " + std::to_string(kMostGpus) + " GPUs");
    }
    Accelerator gpu;
    gpu.name = "GPU" + std::to_string(index);
    gpu.index = static_cast<uint16_t>(index);
    for (size_t i = 2; i < line.words.size(); ++i) {
      const std::string& word = line.words[i].text;
      if (word == "(UUID:") {
        if (i + 1 < line.words.size()) gpu.uuid = line.words[i + 1].text;
        if (gpu.uuid.size() < 2 || gpu.uuid.back() != ')' || i + 2 != line.words.size()) {
          return Refuse(line, "expected (UUID: …) at the end: the text is cut");
        }
        gpu.uuid.pop_back();
        break;
      }
      gpu.model += (gpu.model.empty() ? "" : " ") + word;
    }
    machine_.gpus.push_back(std::move(gpu));
    mig_ = 0;
    links_ = 0;
    return cluster::Ok{};
  }

  // "MIG 1g.5gb Device 0: (UUID: MIG-…)"
  Status ReadMig(const ToolLine& line) {
    if (line.words.size() < 4 || line.words[2].text != "Device" ||
        NumberBeforeColon(line.words[3].text) != mig_) {
      return Refuse(line, "expected MIG device " + std::to_string(mig_) + " of this GPU, found " +
                              Shown(line.Joined()));
    }
    ++mig_;
    machine_.gpus.back().mig.push_back(line.words[1].text);
    return cluster::Ok{};
  }

  // "Link 0: 25.781 GB/s", "Link 3: <inactive>"
  Status ReadLink(const ToolLine& line) {
    if (line.words.size() < 3 || NumberBeforeColon(line.words[1].text) != links_) {
      return Refuse(line, "expected link " + std::to_string(links_) + " of this GPU, found " +
                              Shown(line.Joined()));
    }
    ++links_;
    const std::string& state = line.words[2].text;
    const bool active = line.words.size() == 4 && line.words[3].text == "GB/s" &&
                        state.find_first_not_of("0123456789.") == std::string::npos;
    if (!active && Shown(state).find("nactive") == std::string::npos) {
      return Refuse(line, "expected a link's GB/s or <inactive>, found " + Shown(state));
    }
    if (active) ++machine_.gpus.back().active_links;
    return cluster::Ok{};
  }

  Status ReadNoLinks(const ToolLine& line) const {
    if (links_ == 0) return cluster::Ok{};
    return Refuse(line, machine_.gpus.back().name + " says that it has no links behind " +
                            std::to_string(links_));
  }

  const std::vector<ToolLine>& lines_;
  const std::string& source_;
  Machine machine_;
  int mig_ = 0;    // of the last GPU so far
  int links_ = 0;  // the same
};

}  // namespace

bool IsGpuListing(const std::vector<ToolLine>& lines) {
  return std::any_of(lines.begin(), lines.end(), StartsGpu);
}

Result<Machine> ReadGpuListing(const std::vector<ToolLine>& lines, const std::string& source) {
  return ListingReader(lines, source).Read();
}

}  // namespace muster::topology
