// Any bytes as the lines of a sweep's result, in both formats: what is read is written back as it was, and its points are asked about
// and drawn.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/panels/sweep_scene.hpp"
#include "sim/base/text_tools.hpp"
#include "study/sweep/result/result.hpp"
#include "study/sweep/result/table.hpp"
#include "study/text/result_text.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;
using fuzz::require;

/// Runs what may refuse its input, which it must do in one line.
template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    fuzz::require_one_line(error.line());
  }
}

void read_as_json(std::string_view line) {
  attempt([line] {
    const sweep::Header header = sweep::read_header(line, {"r.jsonl", 1});
    require(sweep::read_header(header.line(), {"again", 1}).line() == header.line());
  });
  attempt([line] {
    const sweep::ResultLine found = sweep::read_line(line, {"r.jsonl", 2});
    for (const auto& [key, value] : found.config) require(sweep::LineScanner(value).value() == value);
    for (const auto& [name, value] : found.metrics) require(sweep::LineScanner(value).number() == value);
  });
}

void read_as_csv(std::string_view line) {
  const auto cells = sweep::cells_of(line);
  if (!cells) return;
  std::string again;
  for (std::size_t i = 0; i < cells->size(); ++i) sweep::append_cell(again += i > 0 ? "," : "", (*cells)[i]);
  require(sweep::cells_of(again) == cells);
  for (const std::string& cell : *cells) {
    if (sweep::valid_utf8(cell) != cell.size() || cell.empty()) continue;
    const std::string json = sweep::json_of_cell(cell);
    require(sweep::json_of_cell(sweep::cell_of_json(json)) == json);
  }
}

/// The text up to its next line break, which is taken out of it too.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// All lines as one result, as the window shows it.
void show(std::string_view whole) {
  attempt([whole] {
    std::string_view text = whole;
    sweep::ResultTable table(sweep::read_header(take_line(text), {"r.jsonl", 1}));
    for (int line = 2; !text.empty(); ++line)
      table.add(sweep::read_line(take_line(text), {"r.jsonl", line}), {"r.jsonl", line});
    table.finish();
    (void)table.errors();
    (void)gui::axis_names(table);
    for (sweep::Row row = 0; row < table.rows(); ++row) require(!table.title(row).empty());
    (void)gui::SweepScene(std::make_shared<const sweep::ResultTable>(std::move(table)), {});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string line = pipeloom::shortened(text, 100);
  require(line.size() <= 100 && pipeloom::sweep::valid_utf8(line) == line.size());
  show(text);
  while (!text.empty()) {
    const std::string_view first = take_line(text);
    read_as_json(first);
    read_as_csv(first);
  }
  return 0;
}
