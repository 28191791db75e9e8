// Any bytes as the lines of a sweep's result, in both formats: what is read is written back as it was.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "study/sweep/result.hpp"
#include "study/sweep/result_text.hpp"

namespace {

using namespace pipeloom;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// Runs what may refuse its input, which it must do in one line.
template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    require(error.line().find('\n') == std::string::npos);
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string line = pipeloom::shortened(text, 100);
  require(line.size() <= 100 && pipeloom::sweep::valid_utf8(line) == line.size());
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(first.size() + 1, text.size()));
    read_as_json(first);
    read_as_csv(first);
  }
  return 0;
}
