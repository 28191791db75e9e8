#pragma once

// Links (<pipeloom/link.hpp>): how they are written, and texts that a file or a link holds.

#include <optional>
#include <string>
#include <string_view>

#include <pipeloom/link.hpp>
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// The value of `c=` for this configuration: compact JSON, keys in their order and numbers as written. Throws InputError if it is longer than
/// links are, saying what to do.
[[nodiscard]] std::string link_value(const Value& config);

/// Throws InputError if `base` is no address of a page, without a fragment: "" and relative ones are.
void require_base(std::string_view base);
/// The link to values of link_value(). Throws as require_base() does.
[[nodiscard]] std::string link_text(std::string_view base, std::string_view value,
                                    const std::optional<std::string>& compare);

/// The name of a link's configuration in messages, and of its second one.
inline constexpr std::string_view kLinkName = "link";
inline constexpr std::string_view kSecondOfLink = "link (compare)";

/// True if `path` is a link, and no file has that name.
[[nodiscard]] bool names_link(const std::string& path);
/// `path`, or kLinkName for a link.
[[nodiscard]] std::string shown_name(const std::string& path);

/// A configuration that a link holds. Throws InputError as read_link() does, and for a link to a file beside a page.
struct LinkedConfigs {
  std::string config;
  std::optional<std::string> compare;
};
[[nodiscard]] LinkedConfigs linked_configs(std::string_view link);

/// Text of a configuration, and its shown name.
struct NamedText {
  std::string text;
  std::string name;
};
/// Of a file, of standard input ("-") or of a link, whose first configuration it is. Throws as read_file() and linked_configs() do.
[[nodiscard]] NamedText read_text(const std::string& path, std::size_t limit = kMaxFileBytes);

}  // namespace pipeloom::io
