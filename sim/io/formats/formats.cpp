#include "sim/io/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include "sim/base/printable.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::io {

// Each is defined in its format's own source file.
#define PIPELOOM_FORMAT(function) Format function();
#include "sim/io/formats/formats.def"
#undef PIPELOOM_FORMAT

namespace {

std::vector<std::string> names_of(bool readable_only) {
  std::vector<std::string> names;
  for (const Format& format : all_formats())
    if (!readable_only || format.read) names.push_back(format.name);
  return names;
}

}  // namespace

const std::vector<Format>& all_formats() {
  static const std::vector<Format> formats = {
#define PIPELOOM_FORMAT(function) function(),
#include "sim/io/formats/formats.def"
#undef PIPELOOM_FORMAT
  };
  return formats;
}

const Format& find_format(std::string_view name, const Where& where) {
  for (const Format& format : all_formats())
    if (format.name == name) return format;
  throw InputError::unknown_name(where, "format", shortened(name, 64), names_of(false));
}

const Format* format_by_extension(std::string_view path) {
  const std::string name = lower(path);
  const Format* best = nullptr;
  std::size_t longest = 0;
  for (const Format& format : all_formats())
    for (const auto& extension : format.extensions)
      if (extension.size() > longest && name.ends_with(extension)) {
        best = &format;
        longest = extension.size();
      }
  return best;
}

const Format* format_by_content(std::string_view text) {
  for (const Format& format : all_formats())
    if (format.read && format.sniff && format.sniff(text)) return &format;
  return nullptr;
}

Imported read_schedule(std::string_view text, const std::string& path, std::string_view format_name) {
  const Format* format = format_name.empty() ? format_by_content(text) : &find_format(format_name);
  if (format == nullptr) format = format_by_extension(path);
  const std::string readable = fmt::format("{}", fmt::join(names_of(true), ", "));
  if (format == nullptr)
    throw InputError(
        Where{path},
        fmt::format(
            "this is no schedule in a format that is known; readable formats: {}; --from says which it is",
            readable));
  if (!format->read && !format->read_instead.empty())
    throw InputError(Where{path},
                     fmt::format("the format {} holds no schedule: {}", format->name, format->read_instead));
  if (!format->read)
    throw InputError(Where{path}, fmt::format("the format {} can only be written; readable formats: {}",
                                              format->name, readable));
  return format->read(text, path);
}

}  // namespace pipeloom::io
