// WishWithin: what another wish wants, as far as it lies in one domain of the fabric (internal to
// policy/). Immutable, any thread.
#pragma once

#include <memory>
#include <string>

#include "policy/terms/gang_request.hpp"

namespace muster::policy {

class WishWithin final : public Wish {
 public:
  // `all`: not null; its subgroups are those of the terms that this goes into.
  WishWithin(std::shared_ptr<const Wish> all, topology::DomainId domain)
      : all_(std::move(all)), domain_(domain) {}
  std::string Key() const override { return all_->Key() + " in " + std::to_string(domain_); }
  // Where a wish tries only the best ones, domains elsewhere take no place of those in here.
  WishedDomains Domains(const Surroundings& around) const override;

 private:
  std::shared_ptr<const Wish> all_;
  topology::DomainId domain_;
};

}  // namespace muster::policy
