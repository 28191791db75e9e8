#include "study/run/run_link.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/links/link.hpp"

namespace pipeloom::study {
namespace {

std::string link_value_of(const std::shared_ptr<const io::Value>& given, const std::string& name) {
  if (!given)
    throw InputError(
        Where{name},
        "a link holds a configuration, and this is a schedule or times; convert it to SVG, or write a page "
        "with `pipeloom report`");
  require_no_files(*given);
  return io::link_value(*given);
}

}  // namespace

void require_no_files(const io::Value& config) {
  std::vector<std::string> files = io::named_files(config, "");
  const io::Value* const costs = config.is(io::ValueKind::Object) ? config.find("costs") : nullptr;
  if (costs != nullptr && costs->is(io::ValueKind::String)) files.push_back(costs->text());
  if (files.empty()) return;
  throw InputError(
      config.where(),
      fmt::format("the configuration names the file '{}', and a link holds no files; put what the file says "
                  "into the configuration",
                  shortened(files.front(), 80)));
}

io::Document read_config_text(const std::string& path) {
  const io::NamedText read = io::read_text(path, io::kMaxDocumentBytes);
  io::Document document = io::Document::parse(read.text, read.name);
  if (io::names_link(path)) require_no_files(document.root());
  return document;
}

std::string link_value_of(const Input& input) {
  return link_value_of(input.given, input.name);
}

std::string link_value_of(const Run& run) {
  return link_value_of(run.given, run.file);
}

std::string address_of(const Run& run, const Run* compare, std::string_view base) {
  std::optional<std::string> second;
  if (compare != nullptr) second = link_value_of(*compare);
  return io::link_text(base, link_value_of(run), second);
}

std::optional<std::string> link_if_any(const Run& run, const Run* compare, std::string_view base) {
  try {
    return address_of(run, compare, base);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace pipeloom::study
