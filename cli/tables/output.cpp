#include "cli/tables/output.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cli/tables/answer.hpp"
#include "cli/tables/queue_output.hpp"
#include "cli/tables/table.hpp"

namespace muster::cli {
namespace {

using cluster::Result;
using Value = rapidjson::Value;

std::string ReasonText(const Value& gang) {
  const Value* reason = Find(gang, "reason");
  return reason == nullptr ? "" : Text(*reason, "message");
}

std::string ReasonCode(const Value& gang) {
  const Value* reason = Find(gang, "reason");
  return reason == nullptr ? "" : Text(*reason, "code");
}

std::string GpuList(const Value& member, const char* name = "gpus") {
  std::string out;
  const Value* gpus = Find(member, name);
  if (gpus == nullptr || !gpus->IsArray()) return out;
  for (const Value& gpu : gpus->GetArray()) {
    if (!out.empty()) out += ",";
    out += gpu.IsInt() ? std::to_string(gpu.GetInt()) : "?";
  }
  return out;
}

std::string MemberStatus(const Value& member) {
  if (!Text(member, "boundNode").empty()) return "bound";
  if (Truth(member, "bindHeld")) return "at the barrier";
  const bool planned = !Text(member, "plannedNode").empty();
  if (Truth(member, "gated")) return planned ? "planned, gated" : "gated";
  return planned ? "planned" : "waiting";
}

// What NVIDIA's device plugin is expected to do with the plan.
std::string KubeletText(const Value& member) {
  const Value* kubelet = Find(member, "kubelet");
  if (kubelet == nullptr) return "-";
  const std::string outcome = Text(*kubelet, "outcome");
  const int64_t choices = Integer(*kubelet, "choices");
  if (outcome == "agree") return "as planned";
  if (outcome == "tied") return "any of " + std::to_string(choices) + " sets";
  if (outcome != "differ") return OrDash(outcome);
  std::string text = GpuList(*kubelet, "predicted");
  if (choices > 1) text += " or " + std::to_string(choices - 1) + " other sets";
  return text;
}

bool AnyFromKubelet(const Value& members) {
  const auto& list = members.GetArray();
  return std::any_of(list.begin(), list.end(),
                     [](const Value& member) { return Find(member, "kubelet") != nullptr; });
}

bool AllAsPlanned(const Value& members) {
  const auto& list = members.GetArray();
  return std::all_of(list.begin(), list.end(), [](const Value& member) {
    const Value* kubelet = Find(member, "kubelet");
    return kubelet == nullptr || Text(*kubelet, "outcome") == "agree";
  });
}

std::string MembersTable(const Value& gang) {
  const Value* members = Find(gang, "members");
  if (members == nullptr || !members->IsArray() || members->Empty()) return {};
  const bool foreseen = AnyFromKubelet(*members);
  const bool strays = foreseen && !AllAsPlanned(*members);
  std::vector<Table::Column> columns = {{"POD"}, {"ROLE"}, {"PHASE"}, {"NODE"}, {"GPUS"}};
  if (strays) columns.push_back({"KUBELET"});
  const bool rings = std::any_of(members->Begin(), members->End(), [](const Value& member) {
    return Find(member, "ringGigabytesPerSecond") != nullptr;
  });
  if (rings) columns.push_back({"RING GB/S", true});
  columns.push_back({"STATUS"});
  Table table(std::move(columns));
  for (const Value& member : members->GetArray()) {
    const std::string bound = Text(member, "boundNode");
    std::vector<std::string> row = {
        Text(member, "pod"), OrDash(Text(member, "role")), Text(member, "phase"),
        OrDash(bound.empty() ? Text(member, "plannedNode") : bound), OrDash(GpuList(member))};
    if (strays) row.push_back(KubeletText(member));
    if (rings) {
      const bool known = Find(member, "ringGigabytesPerSecond") != nullptr;
      row.push_back(known ? Number(Decimal(member, "ringGigabytesPerSecond")) : "-");
    }
    row.push_back(MemberStatus(member));
    table.Add(std::move(row));
  }
  std::string text = table.ToString();
  if (foreseen && !strays) text += "the kubelet is expected to hand out these GPUs\n";
  return text;
}

// "b1/r1: 4, b1/r2: 4"
std::string SharesText(const Value& object, const char* name) {
  std::string text;
  const Value* shares = List(object, name);
  if (shares == nullptr) return text;
  for (const Value& share : shares->GetArray()) {
    const std::string domain = Text(share, "name");
    text += (text.empty() ? "" : ", ") + (domain.empty() ? "in no domain" : domain) + ": " +
            std::to_string(Integer(share, "members"));
  }
  return text;
}

// The neighbours in rank that are not in one domain.
std::string CrossedText(const Value& fabric) {
  const Value* crossed = List(fabric, "crossed");
  if (crossed == nullptr || crossed->Empty()) return {};
  const auto domain = [](const Value& link, const char* name) {
    const std::string text = Text(link, name);
    return text.empty() ? "no domain" : text;
  };
  Table table({{"OUT OF"}, {"FROM"}, {"IN"}, {"TO"}, {"IN"}});
  for (const Value& link : crossed->GetArray()) {
    table.Add({Text(link, "tree") + "/" + Text(link, "level"), Text(link, "from"),
               domain(link, "fromDomain"), Text(link, "to"), domain(link, "toDomain")});
  }
  const int64_t others = Integer(fabric, "crossings") - static_cast<int64_t>(crossed->Size());
  return "\n" + table.ToString() +
         (others > 0 ? "and " + std::to_string(others) + " more\n" : std::string());
}

// "450 GB/s: worker-0 on node-1"
std::string RingText(const Value& rings, const char* name) {
  const Value* ring = Find(rings, name);
  if (ring == nullptr) return "-";
  return Number(Decimal(*ring, "ringGigabytesPerSecond")) + " GB/s: " + Text(*ring, "pod") +
         " on " + Text(*ring, "node");
}

// "a/x, a/y and 3 more"
std::string NamesText(const Value& object, const char* names, const char* in_all) {
  const Value* list = List(object, names);
  if (list == nullptr) return {};
  std::string text;
  for (const Value& name : list->GetArray()) {
    if (name.IsString()) text += (text.empty() ? "" : ", ") + std::string(name.GetString());
  }
  const int64_t others = Integer(object, in_all) - static_cast<int64_t>(list->Size());
  return text + (others > 0 ? " and " + std::to_string(others) + " more" : std::string());
}

// Which domain costs others least to free, and who is in its way.
std::string CheapestText(const Value& fabric) {
  const Value* domain = Find(fabric, "cheapestToFree");
  if (domain == nullptr) return {};
  const std::string lacks = Text(*domain, "name") + ", which lacks room for " +
                            std::to_string(Integer(*domain, "missing")) + " members";
  if (Truth(*domain, "blocked")) {
    const std::string pods = NamesText(*domain, "pods", "podsInAll");
    return "\n" +
           Printable("No domain can be freed for it; nearest is " + lacks +
                     (pods.empty() ? "" : ". In the way, not to be evicted: " + pods)) +
           "\n";
  }
  return "\n" +
         Printable("Cheapest domain to free: " + lacks +
                   ". In the way: " + NamesText(*domain, "gangs", "gangsInAll") + " with " +
                   Number(Decimal(*domain, "gpus")) + " GPUs") +
         "\n";
}

// What domains have for the gang, and why it is not there; empty: there are none.
std::string OffersTable(const Value& object) {
  const Value* offers = List(object, "offers");
  if (offers == nullptr || offers->Empty()) return {};
  const std::string wanted = std::to_string(Integer(object, "wanted"));
  Table table({{"DOMAIN"}, {"ROOM FOR MEMBERS", true}, {"WHY NOT THERE"}});
  for (const Value& offer : offers->GetArray()) {
    table.Add({Text(offer, "name"), std::to_string(Integer(offer, "members")) + " of " + wanted,
               Text(offer, "why")});
  }
  const int64_t others = Integer(object, "domains") - static_cast<int64_t>(offers->Size());
  return table.ToString() + (others > 0
                                 ? "and " + std::to_string(others) + " more with no more room\n"
                                 : std::string());
}

// Where in the fabric the gang lies, and what the domains have for one that waits.
std::string FabricText(const Value& gang) {
  const Value* fabric = Find(gang, "fabric");
  const Value* levels = fabric == nullptr ? nullptr : List(*fabric, "levels");
  if (levels == nullptr) return {};
  std::string text;
  if (!levels->Empty()) {
    Table table({{"LEVEL"}, {"LINKS OUT", true}, {"MEMBERS BY DOMAIN"}});
    for (const Value& level : levels->GetArray()) {
      table.Add({Text(level, "tree") + "/" + Text(level, "level"),
                 std::to_string(Integer(level, "crossings")) + " of " +
                     std::to_string(Integer(*fabric, "links")),
                 SharesText(level, "domains")});
    }
    text += table.ToString() + CrossedText(*fabric);
  }
  if (const Value* others = Find(*fabric, "others"); others != nullptr) {
    const std::string table = OffersTable(*others);
    if (!table.empty()) {
      text += "\n" +
              Printable("Other domains of level " + Text(*others, "level") +
                        " as they are now, not as when it was planned:") +
              "\n" + table;
    }
  }
  const std::string offers = OffersTable(*fabric);
  if (offers.empty()) return text;
  if (!text.empty()) text += "\n";
  text += offers;
  return text + CheapestText(*fabric);
}

}  // namespace

Result<std::string> NodesTable(std::string_view json) {
  rapidjson::Document document;
  const Value* nodes = ParseList(document, json, "nodes");
  if (nodes == nullptr) return Unexpected();
  if (nodes->Empty()) return std::string("no nodes\n");
  Table table({{"NAME"},
               {"STATUS"},
               {"GPUS", true},
               {"FREE", true},
               {"MODEL"},
               {"CPU-FREE", true},
               {"MEM-FREE", true},
               {"HOLDERS", true}});
  std::string notes;
  for (const Value& node : nodes->GetArray()) {
    const Value* gpus = Find(node, "gpus");
    if (gpus == nullptr || !gpus->IsArray()) return Unexpected();
    double free = 0;
    for (const Value& gpu : gpus->GetArray()) free += Decimal(gpu, "freeGpus");
    std::string status = Truth(node, "ready") ? "Ready" : "NotReady";
    if (Truth(node, "ready") && Truth(node, "cordoned")) status += ",Cordoned";
    if (const Value* left_out = Find(node, "leftOut"); left_out != nullptr) {
      status += ",LeftOut";
      notes += Printable(Text(node, "name") + " is left out for " +
                         Elapsed(Decimal(*left_out, "endsInSeconds")) + " more; " +
                         Text(*left_out, "why")) +
               "\n";
    }
    if (Truth(node, "overcommitted")) status += ",Overcommitted";
    const auto note_gpus = [&](const char* flag, bool when, const char* what) {
      std::string which;
      for (const Value& gpu : gpus->GetArray()) {
        if (Find(gpu, flag) == nullptr || Truth(gpu, flag) != when) continue;
        which += (which.empty() ? "" : ",") + std::to_string(Integer(gpu, "index"));
      }
      if (!which.empty()) notes += Printable(Text(node, "name") + what + which) + "\n";
    };
    note_gpus("healthy", false, ": unhealthy GPUs: ");
    note_gpus("cordoned", true, ": cordoned GPUs: ");
    table.Add({Text(node, "name"), status, std::to_string(gpus->Size()), Number(free),
               gpus->Empty() ? "-" : OrDash(Text((*gpus)[0], "model")),
               Number(static_cast<double>(Integer(node, "cpuMilliFree")) / 1000),
               std::to_string(Integer(node, "memoryMiBFree") / 1024) + "Gi",
               std::to_string(Integer(node, "holders"))});
  }
  return table.ToString() + (notes.empty() ? "" : "\n" + notes);
}

Result<std::string> FabricTable(std::string_view json) {
  rapidjson::Document document;
  const Value* domains = ParseList(document, json, "domains");
  const Value* findings = Find(document, "findings");
  if (domains == nullptr || findings == nullptr || !findings->IsArray()) return Unexpected();
  if (domains->Empty())
    return std::string("the policy names no fabric, or no node has its labels\n");
  Table table({{"DOMAIN"},
               {"LEVEL"},
               {"NODES", true},
               {"FREE", true},
               {"KEPT", true},
               {"GPUS", true},
               {"FREE", true},
               {"SLOTS", true}});
  // By level, in the order in which they come.
  std::vector<std::pair<std::string, int64_t>> slots;
  for (const Value& domain : domains->GetArray()) {
    const std::string level = Text(domain, "tree") + "/" + Text(domain, "level");
    const int64_t here = Integer(domain, "slots");
    const auto sum = std::find_if(slots.begin(), slots.end(),
                                  [&](const auto& one) { return one.first == level; });
    if (sum == slots.end()) {
      slots.emplace_back(level, here);
    } else {
      sum->second += here;
    }
    const std::string name = Text(domain, "name");
    const auto indent = static_cast<std::size_t>(std::max<int64_t>(Integer(domain, "depth"), 0));
    table.Add(
        {std::string(2 * std::min<std::size_t>(indent, 32), ' ') + name.substr(name.rfind('/') + 1),
         level, std::to_string(Integer(domain, "nodes")),
         std::to_string(Integer(domain, "freeNodes")), std::to_string(Integer(domain, "keptNodes")),
         std::to_string(Integer(domain, "gpus")), std::to_string(Integer(domain, "freeGpus")),
         std::to_string(here)});
  }
  std::string text = table.ToString() + "\nSlots in all:";
  for (const auto& [level, sum] : slots) text += " " + Printable(level) + " " + std::to_string(sum);
  text += "\n";
  for (const Value& finding : findings->GetArray()) {
    if (!finding.IsString()) return Unexpected();
    text += Printable({finding.GetString(), finding.GetStringLength()}) + "\n";
  }
  return text;
}

namespace {

// What is written of the gang and has no effect.
void AddNotHonoured(const Value& gang, Table& facts) {
  const Value* list = Find(gang, "notHonoured");
  if (list == nullptr || !list->IsArray()) return;
  const char* label = "Not honoured";
  for (const Value& one : list->GetArray()) {
    if (!one.IsString()) continue;
    facts.Add({label, {one.GetString(), one.GetStringLength()}});
    label = "";
  }
}

}  // namespace

Result<std::string> GangExplained(std::string_view json) {
  rapidjson::Document gang;
  gang.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (gang.HasParseError() || Text(gang, "state").empty()) return Unexpected();
  Table facts({{"GANG"}, {Text(gang, "namespace") + "/" + Text(gang, "name")}});
  std::string state = Text(gang, "state");
  if (Find(gang, "startedSecondsAgo") != nullptr) {
    state += ", started " + Elapsed(Decimal(gang, "startedSecondsAgo")) + " ago";
    if (Find(gang, "waitedSeconds") != nullptr) {
      state += " after waiting " + Elapsed(Decimal(gang, "waitedSeconds"));
    }
  } else if (Find(gang, "waitedSeconds") != nullptr) {
    state += ", waiting for " + Elapsed(Decimal(gang, "waitedSeconds"));
  }
  facts.Add({"State", state});
  if (!ReasonCode(gang).empty()) {
    facts.Add({"Why", ReasonText(gang)});
    facts.Add({"Code", ReasonCode(gang)});
  }
  facts.Add({"Members", std::to_string(Integer(gang, "pods")) + " exist, at least " +
                            std::to_string(Integer(gang, "minMember")) + " start together, " +
                            std::to_string(Integer(gang, "bound")) + " bound"});
  if (!Text(gang, "apart").empty()) facts.Add({"Not together", Text(gang, "apart")});
  if (Find(gang, "endsInSeconds") != nullptr) {
    facts.Add({"Ends", "in " + Elapsed(Decimal(gang, "endsInSeconds")) +
                           " at the latest, started or not: the activeDeadlineSeconds of its Job "
                           "count from the Job's start, also while its pods wait"});
  }
  if (!Text(gang, "scaleUp").empty()) facts.Add({"Scale-up", Text(gang, "scaleUp")});
  if (!Text(gang, "remainder").empty()) facts.Add({"Remainder", Text(gang, "remainder")});
  AddNotHonoured(gang, facts);
  if (!Text(gang, "queue").empty()) facts.Add({"Queue", Text(gang, "queue")});
  AddTurn(gang, facts);
  AddPreemption(gang, facts);
  facts.Add({"Priority", std::to_string(Integer(gang, "priority")) +
                             (Find(gang, "nonPreemptible") != nullptr ? ", never evicted" : "")});
  if (Integer(gang, "attempts") > 0) {
    facts.Add({"Failed starts", std::to_string(Integer(gang, "attempts"))});
  }
  if (Find(gang, "deadlineInSeconds") != nullptr) {
    facts.Add({"Deadline", "in " + Elapsed(Decimal(gang, "deadlineInSeconds"))});
  }
  if (const Value* rings = Find(gang, "rings"); rings != nullptr) {
    facts.Add({"Slowest ring", RingText(*rings, "slowest")});
    facts.Add({"Fastest ring", RingText(*rings, "fastest")});
  }
  std::string text = facts.ToString();
  for (const std::string& table : {MembersTable(gang), FabricText(gang)}) {
    if (!table.empty()) text += "\n" + table;
  }
  return text;
}

std::string ServerMessage(std::string_view json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || Text(document, "error").empty()) return {};
  const std::string place = Text(document, "place");
  return Printable((place.empty() ? "" : place + ": ") + Text(document, "error"));
}

Result<std::string> SubmittedLines(std::string_view json) {
  rapidjson::Document document;
  const Value* created = ParseList(document, json, "created");
  if (created == nullptr) return Unexpected();
  std::string out;
  for (const Value& object : created->GetArray()) {
    const std::string ns = Text(object, "namespace");
    out += Printable(Text(object, "kind") + " " + (ns.empty() ? "" : ns + "/") +
                     Text(object, "name") + " created") +
           "\n";
  }
  return out;
}

std::string SubmittedWarnings(std::string_view json) {
  rapidjson::Document document;
  const Value* warnings = ParseList(document, json, "warnings");
  std::string out;
  if (warnings == nullptr) return out;
  for (const Value& warning : warnings->GetArray()) {
    if (warning.IsString())
      out += "muster: warning: " +
             Printable(std::string(warning.GetString(), warning.GetStringLength())) + "\n";
  }
  return out;
}

}  // namespace muster::cli
