// Any bytes as a link: a text within its limit that is packed and unpacked again, or one sentence.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include <pipeloom/link.hpp>
#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/links/link.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;

/// The text is a configuration that gives its link again, or is refused in one line.
void check_config(const std::string& text) {
  fuzz::require(text.size() <= kMaxLinkText);
  const io::Document document = io::Document::parse(text, "link");
  const std::string link = "#c=" + io::link_value(document.root());
  fuzz::require(io::Document::parse(read_link(link).config.value(), "link").root().canonical_text() ==
                document.root().canonical_text());
  (void)io::read_run_config(document.root());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Link link = read_link(text);
    fuzz::require(link.config.has_value() != link.file.has_value());
    if (link.file) fuzz::require(!link.file->starts_with('/') && link.file->find("..") != 0);
    for (const std::optional<std::string>& config : {link.config, link.compare})
      if (config) check_config(*config);
  } catch (const InputError& error) {
    fuzz::require_one_line(error.line());
  }
  return 0;
}
