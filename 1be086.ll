; ModuleID = "nest"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"nest"(i64 %".1", ptr %".2")
{
entry:
  %".4" = getelementptr inbounds ptr, ptr %".2", i64 0
  %".5" = getelementptr inbounds ptr, ptr %".2", i64 1
  %".6" = getelementptr inbounds ptr, ptr %".2", i64 2
  %".7" = getelementptr inbounds i64, ptr %".2", i64 3
  %".8" = getelementptr inbounds i64, ptr %".2", i64 4
  %".9" = getelementptr inbounds i64, ptr %".2", i64 5
  %".10" = getelementptr inbounds i64, ptr %".2", i64 6
  %".11" = getelementptr inbounds i64, ptr %".2", i64 7
  %".12" = getelementptr inbounds i64, ptr %".2", i64 8
  %".13" = getelementptr inbounds i64, ptr %".2", i64 9
  %".14" = getelementptr inbounds i64, ptr %".2", i64 10
  %".15" = getelementptr inbounds i64, ptr %".2", i64 11
  %".16" = getelementptr inbounds i64, ptr %".2", i64 12
  %".17" = getelementptr inbounds i64, ptr %".2", i64 13
  %".18" = getelementptr inbounds i64, ptr %".2", i64 14
  %".19" = getelementptr inbounds i64, ptr %".2", i64 15
  %".20" = getelementptr inbounds i64, ptr %".2", i64 16
  %".21" = load ptr, ptr %".4"
  %".22" = load ptr, ptr %".5"
  %".23" = load ptr, ptr %".6"
  %".24" = load i64, ptr %".7"
  %".25" = load i64, ptr %".8"
  %".26" = load i64, ptr %".9"
  %".27" = load i64, ptr %".10"
  %".28" = load i64, ptr %".11"
  %".29" = load i64, ptr %".12"
  %".30" = load i64, ptr %".13"
  %".31" = load i64, ptr %".14"
  %".32" = load i64, ptr %".15"
  %".33" = load i64, ptr %".16"
  %".34" = load i64, ptr %".17"
  %".35" = load i64, ptr %".18"
  %".36" = load i64, ptr %".19"
  %".37" = load i64, ptr %".20"
  %".38" = ptrtoint ptr %".23" to i64
  %".39" = and i64 %".38", 63
  %".40" = icmp eq i64 %".39", 0
  %".41" = and i1 1, %".40"
  %".42" = mul i64 %".1", %".25"
  %".43" = add i64 %".42", %".25"
  %".44" = icmp slt i64 %".43", %".24"
  %".45" = select  i1 %".44", i64 %".43", i64 %".24"
  %".46" = icmp slt i64 %".42", %".45"
  br i1 %".46", label %"blocks", label %"after_blocks"
blocks:
  %"blocks.1" = phi  i64 [%".42", %"entry"], [%".87", %"after_row"]
  %".48" = udiv i64 %"blocks.1", %".27"
  %".49" = mul i64 %".48", %".27"
  %".50" = sub i64 %"blocks.1", %".49"
  %".51" = udiv i64 %".48", %".26"
  %".52" = mul i64 %".51", %".26"
  %".53" = sub i64 %".48", %".52"
  %".54" = mul i64 %".53", %".28"
  %".55" = add i64 %".54", %".28"
  %".56" = icmp slt i64 %".55", %".30"
  %".57" = select  i1 %".56", i64 %".55", i64 %".30"
  %".58" = mul i64 %".50", %".29"
  %".59" = add i64 %".58", %".29"
  %".60" = icmp slt i64 %".59", %".31"
  %".61" = select  i1 %".60", i64 %".59", i64 %".31"
  %".62" = icmp slt i64 %".54", %".57"
  br i1 %".62", label %"row", label %"after_row"
after_blocks:
  ret void
row:
  %"row.1" = phi  i64 [%".54", %"blocks"], [%".84", %"after_element"]
  %".64" = mul nsw i64 %"row.1", %".32"
  %".65" = add nsw i64 0, %".64"
  %".66" = mul nsw i64 %"row.1", %".34"
  %".67" = add nsw i64 0, %".66"
  %".68" = mul nsw i64 %"row.1", %".36"
  %".69" = add nsw i64 0, %".68"
  %".70" = getelementptr inbounds float, ptr %".21", i64 %".65"
  %".71" = getelementptr inbounds float, ptr %".22", i64 %".67"
  %".72" = getelementptr inbounds float, ptr %".23", i64 %".69"
  %".73" = load float, ptr %".71"
  %".74" = icmp slt i64 %".58", %".61"
  br i1 %".74", label %"element", label %"after_element"
after_row:
  %".87" = add nuw nsw i64 %"blocks.1", 1
  %".88" = icmp slt i64 %".87", %".45"
  br i1 %".88", label %"blocks", label %"after_blocks"
element:
  %"element.1" = phi  i64 [%".58", %"row"], [%".81", %"element"]
  %".76" = getelementptr inbounds float, ptr %".70", i64 %"element.1"
  %".77" = load float, ptr %".76", !llvm.access.group !0
  %".78" = fmul float %".77", %".73"
  %".79" = getelementptr inbounds float, ptr %".72", i64 %"element.1"
  store float %".78", ptr %".79", !llvm.access.group !0
  %".81" = add nuw nsw i64 %"element.1", 1
  %".82" = icmp slt i64 %".81", %".61"
  br i1 %".82", label %"element", label %"after_element", !llvm.loop !2
after_element:
  %".84" = add nuw nsw i64 %"row.1", 1
  %".85" = icmp slt i64 %".84", %".57"
  br i1 %".85", label %"row", label %"after_row"
}

!0 = !{ !"access group" }
!1 = !{ !"llvm.loop.parallel_accesses", !0 }
!2 = !{ !"loop", !1 }