"""WHERE finished results come from: file, frame, rows or arrays -> Items or a counted table. The door is `doors.open_source`."""
