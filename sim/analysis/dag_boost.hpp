#pragma once

// Dag as a Boost.Graph graph: models of VertexListGraph, EdgeListGraph and IncidenceGraph. Argument-dependent look-up finds the
// functions; include this only in .cpp files that run Boost's algorithms. An edge descriptor is the edge's number.

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/property_map/property_map.hpp>

#include <cstdint>
#include <limits>
#include <utility>

#include "sim/analysis/dag.hpp"

namespace boost {

template <>
struct graph_traits<pipeloom::Dag> {
  /// Different types for vertices and edges, so that overloads never confuse them.
  using vertex_descriptor = pipeloom::Vertex;
  struct edge_descriptor {
    std::uint32_t number = 0;
    friend bool operator==(edge_descriptor, edge_descriptor) = default;
  };
  /// Walks edge numbers and yields descriptors.
  template <class Base>
  class EdgeIterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = edge_descriptor;
    using difference_type = std::ptrdiff_t;
    using pointer = const edge_descriptor*;
    using reference = edge_descriptor;
    EdgeIterator() = default;
    explicit EdgeIterator(Base at) : at_(at) {}
    edge_descriptor operator*() const { return {static_cast<std::uint32_t>(*at_)}; }
    EdgeIterator& operator++() {
      ++at_;
      return *this;
    }
    EdgeIterator operator++(int) {
      EdgeIterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const EdgeIterator&, const EdgeIterator&) = default;

   private:
    Base at_{};
  };

  using vertex_iterator = counting_iterator<vertex_descriptor>;
  using out_edge_iterator = EdgeIterator<const std::uint32_t*>;
  using edge_iterator = EdgeIterator<counting_iterator<std::uint32_t>>;
  using directed_category = directed_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  struct traversal_category : incidence_graph_tag, vertex_list_graph_tag, edge_list_graph_tag {};
  using vertices_size_type = std::uint32_t;
  using edges_size_type = std::uint32_t;
  using degree_size_type = std::uint32_t;
  static vertex_descriptor null_vertex() { return std::numeric_limits<vertex_descriptor>::max(); }
};

}  // namespace boost

namespace pipeloom {

using DagTraits = boost::graph_traits<Dag>;

inline DagTraits::vertices_size_type num_vertices(const Dag& dag) {
  return static_cast<std::uint32_t>(dag.num_vertices());
}
inline DagTraits::edges_size_type num_edges(const Dag& dag) {
  return static_cast<std::uint32_t>(dag.num_edges());
}
inline std::pair<DagTraits::vertex_iterator, DagTraits::vertex_iterator> vertices(const Dag& dag) {
  return {DagTraits::vertex_iterator(0), DagTraits::vertex_iterator(num_vertices(dag))};
}
inline std::pair<DagTraits::edge_iterator, DagTraits::edge_iterator> edges(const Dag& dag) {
  using Number = boost::counting_iterator<std::uint32_t>;
  return {DagTraits::edge_iterator(Number(0)), DagTraits::edge_iterator(Number(num_edges(dag)))};
}
inline Vertex source(DagTraits::edge_descriptor e, const Dag& dag) {
  return dag.edge(e.number).source;
}
inline Vertex target(DagTraits::edge_descriptor e, const Dag& dag) {
  return dag.edge(e.number).target;
}
inline std::pair<DagTraits::out_edge_iterator, DagTraits::out_edge_iterator> out_edges(Vertex v,
                                                                                       const Dag& dag) {
  const auto list = dag.out(v);
  return {DagTraits::out_edge_iterator(list.data()), DagTraits::out_edge_iterator(list.data() + list.size())};
}
inline std::uint32_t out_degree(Vertex v, const Dag& dag) {
  return static_cast<std::uint32_t>(dag.out(v).size());
}

/// Vertex descriptors are their own index.
inline boost::typed_identity_property_map<Vertex> get(boost::vertex_index_t, const Dag&) {
  return {};
}
inline Vertex get(boost::vertex_index_t, const Dag&, Vertex v) {
  return v;
}

}  // namespace pipeloom

namespace boost {
template <>
struct property_map<pipeloom::Dag, vertex_index_t> {
  using type = typed_identity_property_map<pipeloom::Vertex>;
  using const_type = type;
};
}  // namespace boost
