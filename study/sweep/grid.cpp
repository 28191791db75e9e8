#include "study/sweep/grid.hpp"

#include <utility>

#include "sim/io/file.hpp"
#include "study/sweep/grid_reader.hpp"

namespace pipeloom::sweep {

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
