#include <fmt/format.h>

#include "fabric/grid.h"
#include "fabric/site_values.h"

namespace weft::fabric {
namespace {

// A list with one entry per dimension, or nothing.
Result<std::vector<Yaml>> per_dimension(const Wiring& w, std::string_view key, std::size_t n) {
  if (!w.spec.has(key)) return std::vector<Yaml>{};
  Yaml list = w.spec.get(key);
  if (list.kind() != Yaml::Kind::kList || list.size() != n)
    return list.error(fmt::format("{} is a list with one entry per dimension ({})", key, n));
  return list.items();
}

}  // namespace

std::vector<Parameter> grid_parameters() {
  return {{"dims", "", "", "sizes of the dimensions, [4, 4, 4]"},
          {"block", "dims", "", "sizes of a block (rack, cube); links that leave a block take trunk_medium and trunk_length"},
          {"rates", "rate", "Gb/s", "one link's rate by dimension"},
          {"media", "medium", "", "medium by dimension"},
          {"lengths", "length", "m", "cable length by dimension"},
          {"links", "1", "", "parallel links to each neighbour, a number or a list by dimension"}};
}

double grid_points(const Wiring& w) {
  double n = 0;
  for (const auto& g : w.groups) n += static_cast<double>(g.size());
  return n;
}

std::size_t Grid::stride(std::size_t dimension) const {
  std::size_t s = 1;
  for (std::size_t d = 0; d < dimension; ++d) s *= static_cast<std::size_t>(dims[d].size);
  return s;
}

Result<Grid> read_grid(const Wiring& w) {
  Grid g;
  Yaml dims = w.spec.get("dims");
  if (!w.spec.has("dims") || dims.kind() != Yaml::Kind::kList || dims.size() == 0)
    return w.spec.error("this topology needs 'dims: [X, Y, …]', whose product is the number of end points");
  if (dims.size() > 8) return dims.error("at most 8 dimensions");
  double product = 1;
  for (const Yaml& item : dims.items()) {
    WEFT_ASSIGN(auto v, item.integer(1, 1 << 20));
    Dimension d;
    d.size = d.block = static_cast<int>(v), d.rate = w.rate, d.medium = w.medium, d.length_m = w.length_m;
    product *= static_cast<double>(v);
    g.dims.push_back(d);
  }
  std::vector<DeviceId> in_order = w.all();
  if (product != static_cast<double>(in_order.size()))
    return dims.error(fmt::format("dims make {:.0f} end points, but there are {}", product, in_order.size()));
  WEFT_ASSIGN(auto blocks, per_dimension(w, "block", g.dims.size()));
  WEFT_ASSIGN(auto rates, per_dimension(w, "rates", g.dims.size()));
  WEFT_ASSIGN(auto media, per_dimension(w, "media", g.dims.size()));
  WEFT_ASSIGN(auto lengths, per_dimension(w, "lengths", g.dims.size()));
  std::vector<Yaml> links;
  if (w.spec.get("links").kind() == Yaml::Kind::kList) {
    WEFT_ASSIGN(links, per_dimension(w, "links", g.dims.size()));
  } else {
    WEFT_ASSIGN(int same, w.count("links", 1, 1, 64));
    for (Dimension& d : g.dims) d.links = same;
  }
  for (std::size_t k = 0; k < g.dims.size(); ++k) {
    Dimension& d = g.dims[k];
    if (!blocks.empty()) {
      WEFT_ASSIGN(auto v, blocks[k].integer(1, 1 << 20));
      d.block = static_cast<int>(v);
      if (d.size % d.block) return blocks[k].error(fmt::format("a block of {} does not divide the dimension's {}", d.block, d.size));
    }
    if (!rates.empty()) {
      WEFT_ASSIGN(double v, link_rate(rates[k]));
      d.rate = BitsPerSecond(v);
    }
    if (!media.empty()) {
      WEFT_ASSIGN(auto name, media[k].text());
      auto m = parse_medium(name);
      if (!m) return media[k].error("unknown medium '" + name + "'; known: backplane, board, dac, acc, aec, aoc, optical");
      d.medium = *m;
    }
    if (!lengths.empty()) {
      WEFT_ASSIGN(d.length_m, lengths[k].quantity("m"));
    }
    if (!links.empty()) {
      WEFT_ASSIGN(auto v, links[k].integer(1, 64));
      d.links = static_cast<int>(v);
    }
  }
  // End point i in file order → its place in coordinate order.
  g.points.resize(in_order.size());
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    std::size_t inside = i, block = 1;
    for (const Dimension& d : g.dims) block *= static_cast<std::size_t>(d.block);
    std::size_t outer = i / block, at = 0, step = 1;
    inside = i % block;
    for (const Dimension& d : g.dims) {
      auto b = static_cast<std::size_t>(d.block), n = static_cast<std::size_t>(d.size);
      std::size_t coordinate = inside % b + (outer % (n / b)) * b;
      inside /= b, outer /= n / b;
      at += coordinate * step;
      step *= n;
    }
    g.points[at] = in_order[i];
  }
  return g;
}

}  // namespace weft::fabric
