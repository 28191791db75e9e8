#pragma once

// Links: a run as an address, whose fragment (the text after '#', which browsers send to no server) says all of it.
//
//   http://127.0.0.1:8917/#c=VALUE&compare=VALUE
//
//   c        a configuration: "1." and, in base64url without padding, the raw deflate (RFC 1951) of its JSON
//   u        instead of it, the path of a file beside the page, relative to the page
//   compare  a second configuration, spelt as the first

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pipeloom {

struct Run;

/// The address of `pipeloom serve` where nothing else is said.
inline constexpr int kServePort = 8917;
inline constexpr std::string_view kServeAddress = "http://127.0.0.1:8917/";

/// The most characters of a value.
inline constexpr std::size_t kMaxLinkValue = std::size_t{1} << 15;
/// The most bytes that a configuration has when it is unpacked.
inline constexpr std::size_t kMaxLinkText = std::size_t{1} << 20;

/// The parts of a fragment. Exactly one of `config` and `file` is set.
struct Link {
  std::optional<std::string> config;   ///< JSON text, unread: it may be no configuration
  std::optional<std::string> file;     ///< relative to the page, and below it
  std::optional<std::string> compare;  ///< JSON text of the second configuration
};

/// True for an address (http, https) and for texts with a fragment of ours, which may be wrong. Few files have such a name.
[[nodiscard]] bool is_link(std::string_view text);

/// Reads an address or a fragment alone, with its '#'. Loads nothing. Throws InputError for what is no link, is cut or damaged, is of another
/// version, would unpack to more than kMaxLinkText, or names a file that is not below the page.
[[nodiscard]] Link read_link(std::string_view text);

/// A link to the configuration that this run is of, and to that of `compare`. `base` is the address of the page, without a fragment. Throws
/// InputError if a run is of no configuration, or of one that names other files or is too long.
[[nodiscard]] std::string link_of(const Run& run, const Run* compare = nullptr,
                                  std::string_view base = kServeAddress);

}  // namespace pipeloom
