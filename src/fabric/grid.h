// What topologies with dimensions share: reading `dims` and what differs by dimension, and where an end point lies. With `block` the end points
// are counted block by block (a rack, a cube), inside a block and among blocks with the first dimension running fastest.
#pragma once

#include <vector>

#include "fabric/topologies/topology.h"

namespace weft::fabric {

struct Dimension {
  int size = 0, block = 0;
  BitsPerSecond rate{0};
  Medium medium = Medium::kUnknown;
  double length_m = -1;
  int links = 1;  // parallel links to each neighbour
};

struct Grid {
  std::vector<Dimension> dims;
  std::vector<DeviceId> points;  // by coordinate, first dimension fastest
  std::size_t stride(std::size_t dimension) const;
};

// Errors: dims missing, not matching the number of end points, lists of another length than dims, a block that does not divide.
Result<Grid> read_grid(const Wiring& w);
// Parameters to register for every topology that uses read_grid.
std::vector<Parameter> grid_parameters();
double grid_points(const Wiring& w);

}  // namespace weft::fabric
