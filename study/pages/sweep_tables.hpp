#pragma once

// Tables of a sweep's page. All have a bounded number of rows and short cells.

#include <string>
#include <string_view>
#include <vector>

#include "study/answers/answers.hpp"
#include "study/document/document.hpp"

namespace pipeloom::study::page {

inline constexpr std::size_t kMaxTableRows = 1000;

/// Points, counted from 1, in this order: the first few keys that vary, `metrics`, the other keys and metrics, what is derived and varies, the
/// point's number.
[[nodiscard]] PageTable points_table(const sweep::ResultTable& table, const std::vector<sweep::Row>& rows,
                                     const std::vector<std::string>& metrics);
/// The same without numbers, and with the group's value first.
[[nodiscard]] PageTable grouped_table(const sweep::ResultTable& table, const std::vector<sweep::Row>& rows,
                                      std::string_view group_by, const std::vector<std::string>& metrics);
/// points_table() with a caption, and how many further points are equal in `metrics`.
[[nodiscard]] PageTable front_table(const sweep::ResultTable& table,
                                    const std::vector<sweep::FrontPoint>& front,
                                    const std::vector<std::string>& metrics, std::string caption);

[[nodiscard]] PageTable sensitivity_table(const std::vector<sweep::Sensitivity>& found,
                                          std::string_view metric, std::string_view time_unit);
/// Points of each status.
[[nodiscard]] PageTable status_table(const sweep::ResultTable& table);
/// The most frequent messages, each with its first point.
[[nodiscard]] PageTable error_table(const sweep::ResultTable& table);
/// Keys of the axes and their values.
[[nodiscard]] PageTable axes_table(const sweep::ResultTable& table);
/// "ranks and microbatches change together.", for each zip.
[[nodiscard]] std::vector<std::string> zip_notes(const sweep::ResultTable& table);
/// "Derived: costs.forward, 1, 2.", for each derived key with its values.
[[nodiscard]] std::vector<std::string> derived_notes(const sweep::ResultTable& table);

/// JSON on several lines, cut where it is long.
[[nodiscard]] std::string base_text(const std::string& json);

}  // namespace pipeloom::study::page
