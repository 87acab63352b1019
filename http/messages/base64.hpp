// Base64 as RFC 4648 has it, by OpenSSL: kubeconfig's -data fields and basic authentication. Pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::http {

// Line ends are skipped, as Go skips them. Nothing when a character does not belong, when padding
// is missing or misplaced, or when the bits that are left over are not zero.
std::optional<std::string> DecodeBase64(std::string_view text);

std::string EncodeBase64(std::string_view bytes);

}  // namespace muster::http
