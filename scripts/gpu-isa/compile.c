// Compiles a kernel for a Vulkan device and prints what its driver says of the result: compile FILE.spv DEVICE, a part of its name.
// First lines "name<TAB>value", then an empty one, then the driver's representations of the code, the assembly among them.
// Bindings are made as in src/estep/gpu/open.rs; features are switched on as by wgpu-hal 30.0.1 (vulkan/adapter.rs), as far as compute
// kernels depend on them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { MOST_IDS = 1 << 16, MOST = 64 };

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void check(VkResult result, const char *call) {
    if (result < 0) {
        fprintf(stderr, "%s: error %d\n", call, result);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

// A kernel: its SPIR-V, and what that says of its entry point and its arrays.
struct kernel {
    uint32_t *words;
    size_t n_words;
    const char *entry_point;
    VkDescriptorSetLayoutBinding bindings[MOST];
    uint32_t n_bindings;
};

static struct kernel read_kernel(const char *path) {
    struct kernel kernel = {0};
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail("the file cannot be read");
    kernel.n_words = ftell(file) / 4;
    rewind(file);
    kernel.words = malloc(4 * kernel.n_words);
    if (fread(kernel.words, 4, kernel.n_words, file) != kernel.n_words || kernel.n_words < 5) fail("the file cannot be read");
    fclose(file);

    static uint32_t binding_of[MOST_IDS]; // 1 + the binding of a variable
    if (kernel.words[3] > MOST_IDS) fail("more ids than there is room for");
    // Five words of header; then instructions, each with its length and opcode in the first word.
    for (size_t at = 5; at < kernel.n_words; at += kernel.words[at] >> 16) {
        const uint32_t *word = &kernel.words[at];
        switch (word[0] & 0xffff) {
        case 15: // OpEntryPoint: model, function, name
            kernel.entry_point = (const char *)&word[3];
            break;
        case 71: // OpDecorate: id, decoration (33 is Binding), its operand
            if (word[2] == 33) binding_of[word[1]] = 1 + word[3];
            break;
        case 59: // OpVariable: type, id, storage class (2 is Uniform: the arguments, at an offset that dispatches choose)
            if (binding_of[word[2]]) {
                if (kernel.n_bindings == MOST) fail("more bindings than there is room for");
                kernel.bindings[kernel.n_bindings++] = (VkDescriptorSetLayoutBinding){
                    .binding = binding_of[word[2]] - 1,
                    .descriptorType = word[3] == 2 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                    .descriptorCount = 1,
                    .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                };
            }
            break;
        }
    }
    if (!kernel.entry_point) fail("the file has no entry point");
    return kernel;
}

static VkPhysicalDevice find_device(const char *name) {
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    CHECK(vkCreateInstance(&info, NULL, &instance));
    uint32_t n = MOST;
    VkPhysicalDevice devices[MOST];
    CHECK(vkEnumeratePhysicalDevices(instance, &n, devices));
    for (uint32_t i = 0; i < n; i++) {
        VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
        VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
        vkGetPhysicalDeviceProperties2(devices[i], &properties);
        if (strstr(properties.properties.deviceName, name)) {
            printf("device\t%s\ndriver\t%s %s\n", properties.properties.deviceName, driver.driverName, driver.driverInfo);
            return devices[i];
        }
    }
    fail("there is no such Vulkan device");
    return VK_NULL_HANDLE;
}

static VkDevice open_device(VkPhysicalDevice physical) {
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pipelineExecutableInfo = VK_TRUE,
    };
    VkPhysicalDeviceRobustness2FeaturesEXT robustness = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
        .pNext = &executables,
        .robustBufferAccess2 = VK_TRUE,
    };
    VkPhysicalDeviceVulkan13Features vulkan13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .pNext = &robustness,
        .shaderZeroInitializeWorkgroupMemory = VK_TRUE,
        .subgroupSizeControl = VK_TRUE,
    };
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const char *extensions[] = {"VK_KHR_pipeline_executable_properties", "VK_EXT_robustness2"};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &vulkan13,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = 2,
        .ppEnabledExtensionNames = extensions,
        .pEnabledFeatures = &(VkPhysicalDeviceFeatures){.robustBufferAccess = VK_TRUE},
    };
    VkDevice device;
    CHECK(vkCreateDevice(physical, &info, NULL, &device));
    return device;
}

static VkPipeline compile(VkDevice device, const struct kernel *kernel) {
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = 4 * kernel->n_words,
        .pCode = kernel->words,
    };
    VkShaderModule module;
    CHECK(vkCreateShaderModule(device, &module_info, NULL, &module));
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = kernel->n_bindings,
        .pBindings = kernel->bindings,
    };
    VkDescriptorSetLayout set;
    CHECK(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set));
    VkPipelineLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &set,
    };
    VkPipelineLayout layout;
    CHECK(vkCreatePipelineLayout(device, &layout_info, NULL, &layout));
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR,
        .stage = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = kernel->entry_point,
        },
        .layout = layout,
    };
    VkPipeline pipeline;
    CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

// A function of an extension, which the loader does not export.
#define LOAD(device, name) ((PFN_##name)vkGetDeviceProcAddr(device, #name))

static void print_code(VkDevice device, VkPipeline pipeline) {
    VkPipelineInfoKHR pipeline_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    uint32_t n = 1;
    VkPipelineExecutablePropertiesKHR properties = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
    CHECK(LOAD(device, vkGetPipelineExecutablePropertiesKHR)(device, &pipeline_info, &n, &properties));
    if (n != 1) fail("the kernel was not compiled to one program");
    printf("Subgroup size\t%u\n", properties.subgroupSize);

    VkPipelineExecutableInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline};
    VkPipelineExecutableStatisticKHR statistics[MOST];
    for (int i = 0; i < MOST; i++)
        statistics[i] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
    n = MOST;
    CHECK(LOAD(device, vkGetPipelineExecutableStatisticsKHR)(device, &info, &n, statistics));
    for (uint32_t i = 0; i < n; i++) {
        if (statistics[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR)
            printf("%s\t%g\n", statistics[i].name, statistics[i].value.f64);
        else
            printf("%s\t%llu\n", statistics[i].name, (unsigned long long)statistics[i].value.u64);
    }

    PFN_vkGetPipelineExecutableInternalRepresentationsKHR get = LOAD(device, vkGetPipelineExecutableInternalRepresentationsKHR);
    VkPipelineExecutableInternalRepresentationKHR texts[MOST];
    for (int i = 0; i < MOST; i++)
        texts[i] = (VkPipelineExecutableInternalRepresentationKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR};
    n = MOST;
    CHECK(get(device, &info, &n, texts)); // their sizes
    for (uint32_t i = 0; i < n; i++) texts[i].pData = calloc(1, texts[i].dataSize + 1);
    CHECK(get(device, &info, &n, texts)); // the texts
    for (uint32_t i = 0; i < n; i++) printf("\n##### %s\n%s", texts[i].name, (const char *)texts[i].pData);
}

int main(int n_args, char **args) {
    if (n_args != 3) fail("usage: compile FILE.spv DEVICE");
    struct kernel kernel = read_kernel(args[1]);
    VkPhysicalDevice physical = find_device(args[2]);
    VkDevice device = open_device(physical);
    print_code(device, compile(device, &kernel));
    return 0;
}
