// ListStream: one page of a list, read while it arrives, object by object; nothing of the page is
// held but the object that is read, as far as its decoder uses it. One thread.
//
// An object is passed on before the page is known to be whole: what it says is true whatever comes
// after it, but what is not in the page is known only when End() says so.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/json/json_sieve.hpp"

namespace muster::kube {

class ListStream {
 public:
  struct Page {
    std::string resource_version;
    std::string continue_token;  // not empty: there is another page
  };
  using Take = std::function<void(const KeptObject&)>;

  // Of each object, a `kind`, `fields` are kept; `name` is the list's, for errors.
  ListStream(std::span<const Kept> fields, std::string_view kind, std::string name, Take take);
  ~ListStream() = default;
  ListStream(const ListStream&) = delete;
  ListStream& operator=(const ListStream&) = delete;

  // False: what came is no such list; End() says why.
  bool Feed(std::string_view bytes);
  // The page, if it has been read to its end.
  cluster::Result<Page> End();
  // Something of the page came.
  bool begun() const { return begun_; }
  // The most bytes that were held of the page at any time.
  size_t most_held() const { return sieve_.most_held(); }

 private:
  bool TakeObject(std::string_view text, const cluster::Error* left_out);

  const std::string name_;
  const Take take_;
  JsonSieve sieve_;
  bool begun_ = false;
  size_t items_ = 0;
  std::optional<cluster::Error> problem_;
};

}  // namespace muster::kube
