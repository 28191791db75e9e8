#pragma once

// Series that tell points of a picture apart: the values of one key, each with a colour and the shape of its mark.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/result/table.hpp"

namespace pipeloom::study::page {

class Series {
 public:
  /// The values of `key` in their order, and one more for rows without any; all rows are of one series without a name if `key` is "".
  /// Beyond kMost the last one is that of all other values.
  Series(const sweep::ResultTable& table, const std::string& key);
  static constexpr std::size_t kMost = 24;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::size_t of(sweep::Row row) const;

  /// Shapes that mark() refers to, for the <defs> of the picture `id`.
  [[nodiscard]] static std::string shapes(const std::string& id);
  /// A mark of a series; `place` are the attributes that say where, `classes` what is drawn of it.
  [[nodiscard]] static std::string mark(const std::string& id, std::size_t series, const std::string& place,
                                        std::string_view classes, const std::string& title = {});

 private:
  std::vector<std::string> names_;
  sweep::Levels levels_;
};

}  // namespace pipeloom::study::page
