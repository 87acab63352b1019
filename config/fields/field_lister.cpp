#include "config/fields/field_lister.hpp"

#include <algorithm>
#include <typeindex>
#include <utility>

namespace muster::config {
namespace {

class FieldLister : public FieldVisitor {
 public:
  void Section(const FieldInfo& info, const std::function<void()>& fields) override {
    Add(info);
    const std::string outer = std::exchange(prefix_, paths_.back() + ".");
    fields();
    prefix_ = outer;
  }
  void List(const FieldInfo& info, Elements* items) override {
    Add(info);
    const std::string outer = std::exchange(prefix_, paths_.back());
    Sample("[]", items);
    prefix_ = outer;
  }
  void Named(const TextRule&, Elements* entries) override { Sample("*", entries); }
  void Duration(const FieldInfo& info, DurationRange, cluster::Duration*) override { Add(info); }
  void Whole(const FieldInfo& info, WholeRange, int64_t*) override { Add(info); }
  void Size(const FieldInfo& info, WholeRange, int64_t*) override { Add(info); }
  void Flag(const FieldInfo& info, bool*) override { Add(info); }
  void Amount(const FieldInfo& info, const AmountRule&, int64_t*) override { Add(info); }
  void Text(const FieldInfo& info, const TextRule&, std::string*) override { Add(info); }
  void TextList(const FieldInfo& info, const TextRule&, std::vector<std::string>*) override {
    Add(info);
  }
  void Choice(const FieldInfo& info, const Words&, std::size_t*) override { Add(info); }

  std::vector<std::string> TakePaths() { return std::move(paths_); }

 private:
  void Add(const FieldInfo& info) { paths_.push_back(prefix_ + std::string(info.name)); }
  void Sample(const std::string& name, Elements* elements) {
    const std::type_index type(elements->type());
    if (std::find(inside_.begin(), inside_.end(), type) != inside_.end()) return;
    inside_.push_back(type);
    elements->VisitSample(name, this);
    inside_.pop_back();
  }

  std::string prefix_;
  std::vector<std::string> paths_;
  std::vector<std::type_index> inside_;  // the elements around this place
};

}  // namespace

std::vector<std::string> ListFields(const FieldTable& fields) {
  FieldLister lister;
  fields(&lister);
  return lister.TakePaths();
}

}  // namespace muster::config
