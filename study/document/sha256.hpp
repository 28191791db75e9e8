#pragma once

// SHA-256 (FIPS 180-4), for the hashes of a page's own style and script in its content security policy. Not for secrets: it is plain and
// fast enough for some tens of kilobytes.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipeloom::study::page {

[[nodiscard]] std::array<std::uint8_t, 32> sha256(std::string_view bytes);

/// The hash as a policy source wants it: "sha256-" and base64 with padding (Content Security Policy Level 3, section 2.3.1).
[[nodiscard]] std::string policy_hash(std::string_view bytes);

}  // namespace pipeloom::study::page
