#pragma once

namespace muster::testing {

// Whether a sanitizer watches every access. Without optimisation tests are 30 to 120 times slower
// then (measured with clang's ASan and UBSan), so those of many rounds take fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// Rounds, bytes or the like: fewer where each costs more.
constexpr int FewerIfSanitized(int usual, int sanitized) { return kSanitized ? sanitized : usual; }

}  // namespace muster::testing
