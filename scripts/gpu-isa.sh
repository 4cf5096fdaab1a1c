#!/usr/bin/env bash
# Compiles every kernel for AMD cards, RDNA2 and RDNA3, without one: registers, workgroup memory, waves per SIMD, code size and
# vector-memory instructions per loop, as a Markdown table. Status 1 if a kernel spills registers or does worse than its row in
# scripts/gpu-isa/floors.tsv. SPIR-V and assembly stay in target/gpu-isa.
# Installs what is missing (Debian, Ubuntu). The compiler is Mesa's RADV: the system's from version 25 on, else 25.0.7, unpacked in
# target/ (that of Debian 12 does not know RDNA3). Versions differ in registers: the rows hold for 25.0.7, 25.2.8 and 26.2.6.
set -euo pipefail
cd "$(dirname "$0")/.."
work="$PWD/target/gpu-isa"
mesa="$PWD/target/gpu-isa-mesa"

is_installed() { # is_installed PACKAGE
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

need() { # need PACKAGE...: installs those that are missing
    local package sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    for package in "$@"; do
        is_installed "$package" && continue
        echo "installing $package" >&2
        $sudo apt-get update -q >&2
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$package" >&2
    done
}

unpack_mesa() { # Mesa 25.0.7 as Debian built it for Debian 12, with the libraries that it needs newer than they are there
    [ "$(dpkg --print-architecture)" = amd64 ] || { echo "error: Mesa 25 or later is needed" >&2; exit 1; }
    need curl
    need libllvm15
    local new=$mesa.new archive sum file
    # The archive that this system's packages come from.
    archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | head -n 1)
    rm -rf "$new"
    mkdir -p "$new"
    while read -r sum file; do
        echo "fetching $file" >&2
        curl --fail --silent --show-error --location "${archive%/}/pool/main/$file" -o "$new/deb"
        echo "$sum  $new/deb" | sha256sum --check --quiet >&2
        dpkg-deb --extract "$new/deb" "$new"
    done << 'DEBS'
3899f1800424c60a05df5d6913076a526ca8fdbabec43672cd397563d1ca3263 m/mesa/mesa-vulkan-drivers_25.0.7-2~bpo12+1_amd64.deb
9cc2f341964286295124a32d3625edb76730500625e54a1e682761f883064d7b libd/libdrm/libdrm2_2.4.123-1~bpo12+1_amd64.deb
334e2ae389af0e9cb607c2ccfbbf7ae9feb34131ff998550baeffeeae6cda296 libd/libdrm/libdrm-amdgpu1_2.4.123-1~bpo12+1_amd64.deb
DEBS
    rm "$new/deb"
    mv "$new" "$mesa"
}

choose_driver() {
    local driver libraries=$mesa/usr/lib/x86_64-linux-gnu
    if dpkg --compare-versions "$(dpkg-query -W -f '${Version}' mesa-vulkan-drivers)" ge 25; then
        need mesa-drm-shim
        export DRM_SHIM=libamdgpu_noop_drm_shim.so
        driver=$(echo /usr/share/vulkan/icd.d/radeon_icd*.json | tr ' ' :)
    else
        [ -d "$mesa" ] || unpack_mesa
        export LD_LIBRARY_PATH=$libraries
        driver=$mesa/radeon.json
        printf '{"file_format_version": "1.0.0", "ICD": {"api_version": "1.4.305", "library_path": "%s"}}\n' \
            "$libraries/libvulkan_radeon.so" > "$driver"
    fi
    # No other driver and no layer has a say. Older loaders know the second name alone.
    export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver VK_LOADER_LAYERS_DISABLE='~all~' NODEVICE_SELECT=1
}

command -v cargo > /dev/null || { echo "error: a Rust toolchain is needed: https://rustup.rs" >&2; exit 1; }
need gcc
need libc6-dev
need libvulkan-dev
need mesa-vulkan-drivers
need python3
rm -rf "$work"
mkdir -p "$work/spirv"
NOISYOR_SPIRV="$work/spirv" cargo test --locked --quiet --test gpu kernels_become_spirv >&2
gcc -std=c11 -O1 -Wall -Wextra -Werror -o "$work/compile" scripts/gpu-isa/compile.c -lvulkan
choose_driver
python3 scripts/gpu-isa "$work/compile" "$work"
