#include "study/sweep/grid/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/io/json/file.hpp"
#include "study/sweep/grid/grid_reader.hpp"
#include "study/sweep/grid/grid_template.hpp"

namespace pipeloom::sweep {

namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

void GridReader::count() {
  constexpr Wide kMost = ~std::uint64_t{0};
  Wide total = 0;
  for (Block& block : content_->blocks) {
    Wide size = 1;
    for (const auto& axis : block.axes) size = std::min(size * axis->size(), kMost + 1);
    block.begin = static_cast<std::uint64_t>(std::min(total, kMost));
    block.size = static_cast<std::uint64_t>(std::min(size, kMost));
    total = std::min(total + size, kMost + 1);
  }
  const Where where{content_->path};
  if (total > kMost)
    throw InputError(where, fmt::format("the grid has more than 1.8e19 combinations; at most {} are "
                                        "allowed: give fewer values",
                                        limits_.max_points));
  content_->total = static_cast<std::uint64_t>(total);
  const auto& sample = content_->sample;
  if (sample && sample->points > content_->total && sample->method == Sample::Method::Random)
    throw InputError(
        sample_where_,
        fmt::format("a sample of {} points is more than the {} combinations that there are; leave "
                    "\"sample\" out",
                    sample->points, content_->total));
  content_->combinations = sample ? sample->points : content_->total;
  if (content_->combinations > limits_.max_points)
    throw InputError(where, fmt::format("the grid has {} combinations; at most {} are allowed: give fewer "
                                        "values, \"sample\" some, or raise the limit (--max-points)",
                                        content_->combinations, limits_.max_points));
}

std::shared_ptr<const GridContent> GridReader::finish() {
  require_once();
  count();
  require_paths(*content_);
  link_rules(*content_);
  add_identity(*content_);
  content_->templates = std::make_shared<const Templates>(*content_);
  return content_;
}

Grid Grid::read(const std::string& path, const GridLimits& limits) {
  return parse(io::read_file(path), path == "-" ? "standard input" : path, limits);
}

Grid Grid::parse(std::string_view text, const std::string& path, const GridLimits& limits) {
  GridReader reader(path, limits);
  const io::Document document = io::Document::parse(text, path);
  reader.read(document.root());
  return Grid(reader.finish());
}

const std::vector<std::string>& Grid::keys() const {
  return content_->keys;
}

const std::vector<std::string>& Grid::metrics() const {
  return content_->metrics;
}

std::uint64_t Grid::combinations() const {
  return content_->combinations;
}

bool Grid::has_conditions() const {
  return !content_->conditions.empty();
}

const std::string& Grid::hash() const {
  return content_->hash;
}

const std::string& Grid::axes_json() const {
  return content_->axes_json;
}

const std::string& Grid::base_json() const {
  return content_->base_json;
}

}  // namespace pipeloom::sweep
