#include "sim/io/links/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/io/links/deflate.hpp"

namespace pipeloom {
namespace {

constexpr std::string_view kDigits64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kVersionOfLinks = "1";
constexpr std::size_t kShownPart = 80;

[[noreturn]] void refuse(const std::string& message) {
  throw InputError(Where{std::string(io::kLinkName)}, message);
}

std::string as_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char byte : bytes) {
    held = (held << 8) | static_cast<unsigned char>(byte);
    for (bits += 8; bits >= 6; bits -= 6) out += kDigits64[(held >> (bits - 6)) & 63];
  }
  if (bits > 0) out += kDigits64[(held << (6 - bits)) & 63];
  return out;
}

std::string cut_text(std::string_view name) {
  return fmt::format("the value of {}= ends too early; copy the link again, as a whole", name);
}

/// The bytes that `text`, the value of `name`, is base64url of.
std::string from_base64(std::string_view name, std::string_view text) {
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits64.find(c);
    if (digit == std::string_view::npos)
      refuse(fmt::format(
          "'{}' in the value of {}= is no digit of base64url (A-Z a-z 0-9 - _); copy the link again",
          shortened(std::string_view(&c, 1), kShownPart), name));
    held = (held << 6) | static_cast<std::uint32_t>(digit);
    if ((bits += 6) < 8) continue;
    bits -= 8;
    out += static_cast<char>((held >> bits) & 255);
  }
  // A digit alone holds less than a byte.
  if (text.size() % 4 == 1) refuse(cut_text(name));
  return out;
}

/// The part of `value` after its version. Throws InputError for other versions.
std::string_view body_of(std::string_view name, std::string_view value) {
  const std::size_t dot = std::min(value.find('.'), value.size());
  const std::string_view version = value.substr(0, dot);
  const bool is_number =
      !version.empty() && version.size() <= 9 &&
      std::all_of(version.begin(), version.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (dot == value.size() || !is_number)
    refuse(
        fmt::format("the value of {}= begins with no version; it is '{}.' and base64url: copy the link again",
                    name, kVersionOfLinks));
  if (version != kVersionOfLinks)
    refuse(fmt::format(
        "{}= is of version {} of links, and this program reads version {}; open it with a newer pipeloom, "
        "or ask for the configuration as a file",
        name, version, kVersionOfLinks));
  return value.substr(dot + 1);
}

/// The JSON text of a value of c= or compare=.
std::string unpacked_value(std::string_view name, std::string_view value) {
  if (value.size() > kMaxLinkValue)
    refuse(fmt::format(
        "the value of {}= has {} characters, and at most {} are read; give the configuration as a file", name,
        value.size(), kMaxLinkValue));
  std::string text;
  switch (io::inflate_into(text, from_base64(name, body_of(name, value)), kMaxLinkText)) {
    case io::Unpacked::Whole:
      return text;
    case io::Unpacked::Cut:
      refuse(cut_text(name));
    case io::Unpacked::Damaged:
      refuse(fmt::format("the value of {}= is damaged; copy the link again", name));
    case io::Unpacked::TooLong:
      refuse(fmt::format(
          "the value of {}= unpacks to more than {}, the most that is read; give the configuration as a file",
          name, bytes_text(static_cast<Bytes>(kMaxLinkText))));
  }
  throw InternalError("a way to end that no reader of links knows");
}

/// The byte that the two hexadecimal digits after a '%' say, or -1.
int escaped_byte(std::string_view digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (digits.size() < 2) return -1;
  const std::size_t high = kHex.find(lower(digits[0]));
  const std::size_t low = kHex.find(lower(digits[1]));
  return high == std::string_view::npos || low == std::string_view::npos ? -1
                                                                         : static_cast<int>(16 * high + low);
}

std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int byte = text[i] == '%' ? escaped_byte(text.substr(i + 1)) : -1;
    out += byte < 0 ? text[i] : static_cast<char>(byte);
    if (byte >= 0) i += 2;
  }
  return out;
}

/// The path that u= gives, which must lead to a file below the page.
std::string path_below_page(std::string_view value) {
  std::string path = without_escapes(value);
  const std::vector<std::string> parts = split(path, '/');
  const bool leads_up =
      std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part == ".."; });
  const bool is_plain =
      path.find_first_of("\\:?#%") == std::string::npos &&
      std::all_of(path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  if (path.empty() || path.front() == '/' || leads_up || !is_plain)
    refuse(fmt::format(
        "u='{}' is no path of a file beside the page; give a relative one without '..', such as run.json",
        shortened(path, kShownPart)));
  return path;
}

void put_once(std::optional<std::string>& into, std::string_view name, std::string value) {
  if (into) refuse(fmt::format("{}= is there twice; leave one of them out", name));
  into = std::move(value);
}

void read_parameter(Link& link, std::string_view parameter) {
  if (parameter.empty()) return;
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  const std::string_view name = parameter.substr(0, equals);
  const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
  if (name == "c") return put_once(link.config, name, unpacked_value(name, value));
  if (name == "compare") return put_once(link.compare, name, unpacked_value(name, value));
  if (name == "u") return put_once(link.file, name, path_below_page(value));
  throw InputError::unknown_name(Where{std::string(io::kLinkName)}, "parameter", shortened(name, kShownPart),
                                 {"c", "compare", "u"});
}

constexpr std::array<std::string_view, 2> kSchemes = {"http://", "https://"};

bool has_scheme(std::string_view text) {
  return std::any_of(kSchemes.begin(), kSchemes.end(),
                     [text](std::string_view one) { return text.starts_with(one); });
}

}  // namespace

bool is_link(std::string_view text) {
  if (text.starts_with('#') || has_scheme(text)) return true;
  const std::size_t hash = text.find('#');
  if (hash == std::string_view::npos) return false;
  const std::string_view fragment = text.substr(hash + 1);
  return fragment.starts_with("c=") || fragment.starts_with("u=") || fragment.starts_with("compare=");
}

Link read_link(std::string_view text) {
  const std::size_t hash = text.find('#');
  Link link;
  if (hash != std::string_view::npos)
    for (const std::string& parameter : split(text.substr(hash + 1), '&')) read_parameter(link, parameter);
  if (!link.config && !link.file && !link.compare)
    refuse(
        "this address has no run after '#', and nothing is loaded from it; a link ends in #c=..., as "
        "`pipeloom link RUN.json` prints it");
  if (link.config && link.file) refuse("c= and u= are both there; leave one of them out");
  if (link.compare && !link.config && !link.file)
    refuse("compare= is there alone; the run that it is compared with is c= or u=");
  return link;
}

namespace io {

std::string link_value(const Value& config) {
  const JsonStyle compact{JsonSpelling::Report, false, 0, 0, 0};
  const std::string json = written_json(compact, [&](JsonWriter& out) { out.value(config); });
  std::string value = std::string(kVersionOfLinks) + '.' + as_base64(deflated(json));
  if (json.size() > kMaxLinkText || value.size() > kMaxLinkValue)
    throw InputError(config.where(),
                     fmt::format("as a link this configuration has {} characters ({} of JSON), and links "
                                 "hold {} ({}); put the file "
                                 "beside the page and give out #u=NAME (`pipeloom serve --folder`)",
                                 value.size(), bytes_text(static_cast<Bytes>(json.size())), kMaxLinkValue,
                                 bytes_text(static_cast<Bytes>(kMaxLinkText))));
  return value;
}

namespace {

/// Letters that end an address where it is written in text.
bool is_of_address(char c) {
  return c > ' ' && c < '\x7f' && std::string_view("#\"<>\\^`{|}").find(c) == std::string_view::npos;
}

}  // namespace

void require_base(std::string_view base) {
  const std::string_view before_slash = base.substr(0, base.find('/'));
  const bool known =
      has_scheme(base) || base.starts_with("file:///") || before_slash.find(':') == std::string_view::npos;
  if (known && std::all_of(base.begin(), base.end(), is_of_address)) return;
  throw InputError(Where{"--base"},
                   fmt::format("'{}' is no address of a page; give one such as {}, without '#' and blanks",
                               shortened(base, kShownPart), kServeAddress));
}

std::string link_text(std::string_view base, std::string_view value,
                      const std::optional<std::string>& compare) {
  require_base(base);
  const bool is_host_alone =
      has_scheme(base) && base.find('/', base.find("//") + 2) == std::string_view::npos;
  std::string out = fmt::format("{}{}#c={}", base, is_host_alone ? "/" : "", value);
  if (compare) out += "&compare=" + *compare;
  return out;
}

bool names_link(const std::string& path) {
  std::error_code none;
  return is_link(path) && !std::filesystem::exists(path, none);
}

std::string shown_name(const std::string& path) {
  return names_link(path) ? std::string(kLinkName) : path;
}

LinkedConfigs linked_configs(std::string_view link) {
  Link read = read_link(link);
  if (read.config) return {std::move(*read.config), std::move(read.compare)};
  throw InputError(
      Where{std::string(kLinkName)},
      fmt::format("it leads to the file '{}' beside a page, and this program loads nothing from a network; "
                  "download the file and give its name",
                  shortened(*read.file, kShownPart)));
}

NamedText read_text(const std::string& path, std::size_t limit) {
  if (names_link(path)) return {linked_configs(path).config, std::string(kLinkName)};
  return {read_file(path, limit), path == "-" ? "standard input" : path};
}

}  // namespace io
}  // namespace pipeloom
