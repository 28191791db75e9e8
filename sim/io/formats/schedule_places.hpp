#pragma once

// Where in a schedule file an entry stands: asked only once something is wrong with it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// Positions in the text of one schedule file, JSON or PyTorch's CSV.
class SchedulePlaces {
 public:
  /// `text` has been read as a schedule already, so it parses; `name` is the file's. Keeps a view of the text's rows: it
  /// must outlive this.
  SchedulePlaces(std::string_view text, std::string name);

  /// file:line:column of entry `slot` of a rank's queue; of the rank's row if there is no such entry.
  [[nodiscard]] Where of(Rank rank, std::size_t slot) const;
  /// file:line:column of cell `cell` of a CSV row, blank cells and communication counted.
  [[nodiscard]] Where of_cell(Rank rank, std::size_t cell) const;
  /// The place that a diagnostic speaks of.
  [[nodiscard]] Where of(const Diagnostic& diagnostic) const { return of(diagnostic.rank, diagnostic.slot); }

 private:
  [[nodiscard]] Where of_json(Rank rank, std::size_t slot) const;
  [[nodiscard]] Where of_csv(Rank rank, std::size_t slot) const;

  std::string name_;
  bool is_json_ = false;
  Document document_;                   // of JSON
  std::vector<std::string_view> rows_;  // of CSV
};

}  // namespace pipeloom::io
