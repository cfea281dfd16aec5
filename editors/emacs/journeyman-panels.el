;;; journeyman-panels.el --- Tasks, and what commands print  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; The list of steps of a session (`todo_write', `task') in a panel of its own, and one buffer for each
;; command that prints while it runs.

;;; Code:

(require 'cl-lib)
(require 'journeyman-log)

(defcustom journeyman-show-output nil
  "Non-nil means show the output of a command when it starts to print."
  :type 'boolean
  :group 'journeyman)

(defvar-local journeyman-panels-plan nil
  "The steps of this conversation.")
(defvar-local journeyman-panels--shown ""
  "The part of a command's output that this buffer shows.")

;;;; Tasks

(defun journeyman-panels--tasks-name ()
  "The name of the panel of the current conversation."
  (concat "*tasks: " (string-trim (buffer-name) "\\*journeyman: " "\\*") "*"))

(defun journeyman-panels-take-plan (entries)
  "Set the steps of the current conversation to ENTRIES."
  (setq journeyman-panels-plan (append entries nil))
  (when (get-buffer (journeyman-panels--tasks-name)) (journeyman-panels--draw-tasks)))

(defun journeyman-panels-count ()
  "The number of done steps and of all, or nil if there are none."
  (when journeyman-panels-plan
    (format "%d/%d" (cl-count "completed" journeyman-panels-plan :test #'equal
                              :key (lambda (entry) (alist-get 'status entry)))
            (length journeyman-panels-plan))))

(defun journeyman-panels--draw-tasks ()
  "Write the panel of the current conversation; return its buffer."
  (let ((plan journeyman-panels-plan))
    (with-current-buffer (get-buffer-create (journeyman-panels--tasks-name))
      (unless (derived-mode-p 'special-mode) (special-mode))
      (let ((inhibit-read-only t))
        (erase-buffer)
        (dolist (entry plan)
          (let-alist entry
            (insert (pcase .status ("completed" "[x] ") ("in_progress" "[>] ") (_ "[ ] "))
                    (propertize .content 'face
                                (pcase .status ("completed" 'shadow) ("in_progress" 'bold)))
                    (if (equal .priority "high") (propertize "  high" 'face 'journeyman-failed) "")
                    "\n")))
        (unless plan (insert "No tasks yet\n"))
        (goto-char (point-min)))
      (current-buffer))))

(defun journeyman-panels-show-tasks ()
  "Show the tasks of this conversation beside it."
  (interactive)
  (display-buffer (journeyman-panels--draw-tasks)
                  '((display-buffer-in-side-window) (side . right) (window-width . 36))))

;;;; What commands print

(defun journeyman-panels-stream (call)
  "Show the output of CALL so far; return non-nil when its buffer is new."
  (let* ((fresh (not (buffer-live-p (journeyman-call-stream call))))
         (text (journeyman-call-text call))
         (title (journeyman-call-title call))
         (buffer (if fresh (get-buffer-create (format "*output: %s*" (journeyman-call-id call)))
                   (journeyman-call-stream call))))
    (setf (journeyman-call-stream call) buffer)
    (with-current-buffer buffer
      (let ((inhibit-read-only t) (at-end (eobp)))
        (unless (derived-mode-p 'special-mode)
          (special-mode)
          (insert (propertize (concat title "\n") 'face 'bold)))
        (save-excursion
          (goto-char (point-max))
          (cond ((string-prefix-p journeyman-panels--shown text)
                 (insert (substring text (length journeyman-panels--shown))))
                (t (delete-region (save-excursion (goto-char (point-min)) (forward-line 1) (point))
                                  (point-max))
                   (insert (propertize "(earlier output omitted)\n" 'face 'journeyman-state) text))))
        (setq journeyman-panels--shown text)
        (when at-end
          (goto-char (point-max))
          (dolist (window (get-buffer-window-list nil nil t)) (set-window-point window (point-max))))))
    (when (and fresh journeyman-show-output) (display-buffer buffer))
    fresh))

(defun journeyman-panels-end-stream (call)
  "Note in the output buffer of CALL that it has ended."
  (when (buffer-live-p (journeyman-call-stream call))
    (let ((word (journeyman-log--state-word call)))
      (with-current-buffer (journeyman-call-stream call)
        (let ((inhibit-read-only t))
          (save-excursion
            (goto-char (point-max))
            (unless (bolp) (insert "\n"))
            (insert (propertize (format "[%s]\n" word) 'face 'journeyman-state))))))))

(provide 'journeyman-panels)
;;; journeyman-panels.el ends here
