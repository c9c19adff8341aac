# One benchmark program from bench/*.cc, built on request (make bench).
file(GLOB WEFT_BENCH CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*_bench.cc)
find_package(benchmark)
if(WEFT_BENCH AND benchmark_FOUND)
  add_executable(weft_bench EXCLUDE_FROM_ALL ${WEFT_BENCH})
  target_link_libraries(weft_bench PRIVATE weft_objects benchmark::benchmark benchmark::benchmark_main)
endif()
# Speed of the packet model (make bench-packet); needs no benchmark library.
add_executable(weft_packet_speed EXCLUDE_FROM_ALL bench/packet_speed.cc)
target_link_libraries(weft_packet_speed PRIVATE weft_objects)
