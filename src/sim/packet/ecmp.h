// What switches hash, and how a hash becomes a choice among equal-cost ports.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace weft::sim::packet {

// The five-tuple of one queue pair: both addresses, UDP destination port 4791 and a source port with 14 bits of entropy (as rdma-core's
// rdma_flow_label_to_udp_sport leaves), which stays for the life of the pair.
inline std::uint32_t flow_hash(std::uint32_t from, std::uint32_t to, std::uint64_t queue_pair, std::uint64_t seed) {
  std::uint64_t source_port = 0xc000 | (mix(queue_pair * 0x9e3779b97f4a7c15 + seed) & 0x3fff);
  return static_cast<std::uint32_t>(mix(mix(static_cast<std::uint64_t>(from) << 32 | to) ^ source_port << 20 ^ 4791) >> 16);
}

inline std::uint64_t salted(std::uint32_t hash, std::uint64_t salt) {
  std::uint64_t x = (static_cast<std::uint64_t>(hash) ^ salt) * 0x9e3779b97f4a7c15;
  return (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
}

// 0 … many − 1.
inline std::uint32_t ecmp_index(std::uint64_t salted_hash, std::uint32_t many) {
  return static_cast<std::uint32_t>(((salted_hash >> 32) * many) >> 32);
}

}  // namespace weft::sim::packet
