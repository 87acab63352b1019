// Lists and maps in a table of fields (fields.hpp): SectionList, SectionMap, and what they are made
// of. The containers belong to the module whose table it is; one visit, one thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "config/fields/fields.hpp"

namespace muster::config {

// `visit` visits one element as one field: visit(info, &element, visitor).
template <typename T, typename Visit>
class ListElements : public Elements {
 public:
  ListElements(std::vector<T>* items, Visit visit) : items_(*items), visit_(std::move(visit)) {}
  const std::type_info& type() const override { return typeid(T); }
  bool empty() const override { return items_.empty(); }
  void Clear() override { items_.clear(); }
  void Add(const std::string& name, FieldVisitor* visitor) override {
    visit_(FieldInfo{name, ""}, &items_.emplace_back(), visitor);
  }
  void VisitAll(FieldVisitor* visitor) override {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const std::string name = "[" + std::to_string(i) + "]";
      visit_(FieldInfo{name, ""}, &items_[i], visitor);
    }
  }
  void VisitSample(const std::string& name, FieldVisitor* visitor) override {
    T sample{};
    visit_(FieldInfo{name, ""}, &sample, visitor);
  }

 private:
  std::vector<T>& items_;
  Visit visit_;
};

template <typename T, typename Visit>
class NamedElements : public Elements {
 public:
  NamedElements(std::map<std::string, T>* entries, Visit visit)
      : entries_(*entries), visit_(std::move(visit)) {}
  const std::type_info& type() const override { return typeid(T); }
  bool empty() const override { return entries_.empty(); }
  void Clear() override { entries_.clear(); }
  void Add(const std::string& name, FieldVisitor* visitor) override {
    visit_(FieldInfo{name, ""}, &entries_[name], visitor);
  }
  void VisitAll(FieldVisitor* visitor) override {
    for (auto& [name, value] : entries_) visit_(FieldInfo{name, ""}, &value, visitor);
  }
  void VisitSample(const std::string& name, FieldVisitor* visitor) override {
    T sample{};
    visit_(FieldInfo{name, ""}, &sample, visitor);
  }

 private:
  std::map<std::string, T>& entries_;
  Visit visit_;
};

// A list of sections; `fields` is the table of one: fields(&section, visitor).
template <typename T, typename Fields>
void SectionList(FieldVisitor* visitor, const FieldInfo& info, std::vector<T>* sections,
                 Fields fields) {
  ListElements items(sections, [fields](const FieldInfo& item, T* section, FieldVisitor* inside) {
    inside->Section(item, [&] { fields(section, inside); });
  });
  visitor->List(info, &items);
}

// A section of sections by name.
template <typename T, typename Fields>
void SectionMap(FieldVisitor* visitor, const FieldInfo& info, const TextRule& names,
                std::map<std::string, T>* sections, Fields fields) {
  NamedElements entries(sections,
                        [fields](const FieldInfo& entry, T* section, FieldVisitor* inside) {
                          inside->Section(entry, [&] { fields(section, inside); });
                        });
  visitor->Section(info, [&] { visitor->Named(names, &entries); });
}

}  // namespace muster::config
