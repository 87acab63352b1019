// The HTTP statuses of answers that Muster tells apart (RFC 9110 §15, RFC 6585 §4 for 429).
#pragma once

namespace muster::kube {

inline constexpr int kHttpBadRequest = 400;
inline constexpr int kHttpUnauthorized = 401;
inline constexpr int kHttpForbidden = 403;
inline constexpr int kHttpNotFound = 404;
inline constexpr int kHttpConflict = 409;
inline constexpr int kHttpGone = 410;
inline constexpr int kHttpContentTooLarge = 413;
inline constexpr int kHttpUnprocessable = 422;
inline constexpr int kHttpTooManyRequests = 429;
inline constexpr int kHttpGatewayTimeout = 504;

}  // namespace muster::kube
