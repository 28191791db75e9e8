#pragma once

// Makes a Grid's content of a file's tree or of options. Included by grid_*.cpp only.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "study/sweep/grid/grid_content.hpp"

namespace pipeloom::sweep {

/// Call read(), or take_base() and add_block(); then finish().
class GridReader {
 public:
  GridReader(std::string path, const GridLimits& limits);

  void read(const io::Value& root);
  void set_base(io::Document base) {
    content_->base = std::move(base);
    take_base();
  }
  void add_block(Block block);
  [[nodiscard]] AxisKey column(const std::string& key, const io::Value& values);
  /// Everything that needs the whole grid.
  [[nodiscard]] std::shared_ptr<const GridContent> finish();

 private:
  using Axes = std::vector<std::shared_ptr<const Axis>>;

  void read_base(const io::Value& value);
  void take_base();
  void read_axes(const io::Value* axes, const io::Value* zips);
  [[nodiscard]] Axes read_product(const io::Value& object);
  [[nodiscard]] std::shared_ptr<const Axis> read_zip(const io::Value& object);
  void read_derived(const io::Value& object);
  void read_conditions(const io::Value& value);
  void read_sample(const io::Value& object);
  void read_metrics(const io::Value& value);
  void read_scenarios(const io::Value& object);
  [[nodiscard]] std::uint32_t key_number(const std::string& key);
  /// No key, or a part of one, is set twice in any block.
  void require_once() const;
  /// Sizes of blocks, sample and grid, within the limit.
  void count();

  GridLimits limits_;
  std::shared_ptr<GridContent> content_;
  std::unordered_map<std::string, std::uint32_t> key_numbers_;
  Where sample_where_;
};

}  // namespace pipeloom::sweep
