//! Who used a word last: finds accesses by two invocations, at least one a write, that nothing puts in order.

/// Several invocations.
const SEVERAL: u32 = u32::MAX;

/// The last uses of a word. Times grow with every dispatch, workgroup and barrier; 0 is before all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uses {
    writer: u32,
    written: u32,
    reader: u32,
    read: u32,
    /// The last dispatch in which another workgroup read it before.
    read_elsewhere: u32,
}

/// What is in order with what.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order {
    /// Now: since the last barrier of any kind.
    pub now: u32,
    /// Since the last barrier for this memory.
    pub seen: u32,
    /// Since the workgroup began.
    pub group: u32,
    /// Since the memory came to be shared: in workgroup memory with the workgroup, in buffers with the dispatch.
    pub begun: u32,
}

impl Uses {
    /// Whether anyone has written it since it came to be shared.
    pub fn is_written(&self, order: Order) -> bool {
        self.written >= order.begun
    }

    /// Atomic operations are in nobody's way: their words have no others.
    pub fn write_atomically(&mut self, order: Order) {
        self.written = order.now;
    }

    fn check_write(&self, lane: u32, order: Order) -> Result<(), String> {
        match self.written {
            written if written < order.begun => Ok(()),
            written if written < order.group => Err("another workgroup wrote it".to_owned()),
            written if written >= order.seen && self.writer != lane => Err(format!(
                "invocation {} wrote it, and no barrier for this memory lies between",
                self.writer
            )),
            _ => Ok(()),
        }
    }

    pub fn read(&mut self, lane: u32, order: Order) -> Result<(), String> {
        self.check_write(lane, order)?;
        if self.read == order.now {
            self.reader = if self.reader == lane { lane } else { SEVERAL };
        } else {
            if (order.begun..order.group).contains(&self.read) {
                self.read_elsewhere = order.begun;
            }
            (self.reader, self.read) = (lane, order.now);
        }
        Ok(())
    }

    pub fn write(&mut self, lane: u32, order: Order) -> Result<(), String> {
        self.check_write(lane, order)?;
        if self.read_elsewhere == order.begun || (order.begun..order.group).contains(&self.read) {
            return Err("another workgroup read it".to_owned());
        }
        if self.read == order.now && self.reader != lane {
            return Err("another invocation read it, and no barrier lies between".to_owned());
        }
        (self.writer, self.written) = (lane, order.now);
        Ok(())
    }
}
